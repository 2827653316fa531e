// Options of the learner of labels, alone and behind a camera. Free of LibTorch.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "pipeline/decisions/divergence_detector.h"
#include "pipeline/decisions/sample_label.h"
#include "pipeline/learner/learner_safety.h"
#include "pipeline/learner/optimizer_options.h"
#include "pipeline/schedules/schedules.h"

namespace millrace::pipeline {

class LabelModel;

/// Called with the network as it was after all stages learned at step `sample`. `model` is borrowed
/// for the call.
using OnLabelCopy = std::function<void(std::int64_t sample, const LabelModel& model)>;

/// Protects a learner of labels against bad weights, and keeps its checkpoints.
struct LabelSafety {
  /// The weights count as bad if the loss over the window is high compared with that of all-zero
  /// outputs, or if outputs are not finite. The limit is loose: a model that is often sure and
  /// sometimes wrong has a large loss, but may be useful.
  DivergenceOptions divergence = {.most_loss = 3};
  /// Copies the weights every n samples, for roll-backs. At least 1.
  int copy_every = 100;
  /// Without a folder, no state outlives the process.
  CheckpointOptions checkpoints = {};
};

struct LabelLearnerOptions {
  /// A network that torch.jit saved; its top-level children are the layers. Empty: uses `network`.
  std::string model = {};
  /// One of LabelNetworkNames(), with `layers` layers of `width` numbers or channels each.
  std::string network = "mlp";
  int layers = 10;
  int width = 64;
  /// A file of initial weights, from `millrace export` or PyTorch. Empty: random weights, or those
  /// of `model`.
  std::string weights = {};
  /// The shape of one sample, without the dimension of the window.
  std::vector<std::int64_t> sample_shape = {1, 8, 8};
  LabelTask task = LabelTask::kClassification;
  /// Classes, or values to predict: the network makes [window, outputs].
  int outputs = 10;
  /// The names of the classes, one each; or empty.
  std::vector<std::string> classes = {};
  /// W: the samples of each step. 1: online learning, each sample alone.
  int window = 1;
  /// One of ScheduleNames() (schedules.h).
  std::string schedule = "sequential";
  int stages = 1;
  /// The first layer of each stage except the first, counted from 0. Empty: layers are divided
  /// equally.
  std::vector<int> cuts = {};
  /// The schedule's options; the learner fills in shape and costs. With a period in milliseconds,
  /// it measures the layers. Otherwise all stages have the same cost.
  ScheduleRequest request = {};
  OptimizerOptions optimizer = {};
  /// Threads of each operation.
  int threads_per_stage = 1;
  /// Seeds the weights of built-in networks, and the random numbers of layers.
  std::uint64_t seed = 0;
  /// Calls `on_copy` every n samples, on a thread of the learner, which waits. 0: never.
  int copy_every = 0;
  OnLabelCopy on_copy = {};
  /// nullopt: bad weights stay, as in the papers.
  std::optional<LabelSafety> safety = {};
  /// Cancels the making of the learner, between two layers that are built or tried.
  std::stop_token stop = {};
};

/// The learner of labels behind the Learner interface: each picture of a camera is a sample.
struct LabelStreamOptions {
  /// Its sample_shape follows from the options below. Without cuts, the network is cut by measured
  /// cost.
  LabelLearnerOptions learner = {};
  /// Size of the pictures, in pixels.
  int width = 32;
  int height = 32;
  /// Whether the network sees the pictures in grey or in colour.
  bool grey = true;
  /// Cancels the making of the learner, between two layers that are measured or built.
  std::stop_token stop = {};
};

}  // namespace millrace::pipeline
