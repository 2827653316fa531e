// How to make the learner of labels, and the same learner behind a camera. Free of LibTorch.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "pipeline/decisions/divergence_guard.h"
#include "pipeline/decisions/sample_label.h"
#include "pipeline/learner/learner_safety.h"
#include "pipeline/learner/optimizer_options.h"
#include "pipeline/schedules/schedules.h"

namespace millrace::pipeline {

class LabelModel;

/// Called with the network as it was after all stages learned at step `sample`. `model` is
/// borrowed.
using OnLabelCopy = std::function<void(std::int64_t sample, const LabelModel& model)>;

/// How a learner of labels is kept from going wrong, and what of it outlives the process.
struct LabelSafety {
  /// The weights are taken for bad by the loss over the window, beside that of outputs that are all
  /// zero, and by outputs that are not finite. A model that is often sure and sometimes wrong has a
  /// large loss and may be worth a lot: that alone is no reason.
  DivergenceOptions divergence = {.most_loss = 3};
  /// A copy of the weights is taken every so many samples, to go back to. At least 1.
  int copy_every = 100;
  /// Without a folder nothing outlives the process.
  CheckpointOptions checkpoints = {};
};

struct LabelLearnerOptions {
  /// A network that torch.jit saved, its top-level children the layers. Empty: `network`.
  std::string model = {};
  /// Instead of it, one of LabelNetworkNames(), with so many layers, each so many numbers or
  /// channels wide.
  std::string network = "mlp";
  int layers = 10;
  int width = 64;
  /// A file of weights to start from, as `millrace export` or PyTorch wrote it. Empty: random ones,
  /// or those of `model`.
  std::string weights = {};
  /// Of one sample, without the dimension of the window.
  std::vector<std::int64_t> sample_shape = {1, 8, 8};
  LabelTask task = LabelTask::kClassification;
  /// Classes, or values to predict: the network makes [window, outputs].
  int outputs = 10;
  /// The classes' names, one each, or none.
  std::vector<std::string> classes = {};
  /// W: samples learned from at each step. 1: online learning, each sample alone.
  int window = 1;
  /// One of ScheduleNames() (schedules.h).
  std::string schedule = "sequential";
  int stages = 1;
  /// The layer that starts each stage after the first, counted from 0. Empty: equally many layers.
  std::vector<int> cuts = {};
  /// The schedule's options; its shape and costs are filled in. Where a period in milliseconds is
  /// given, layers are measured; otherwise all stages cost the same.
  ScheduleRequest request = {};
  OptimizerOptions optimizer = {};
  /// Threads inside an operation.
  int threads_per_stage = 1;
  /// Of the built-in networks' weights, and of what layers draw at random.
  std::uint64_t seed = 0;
  /// `on_copy` is called every so many samples, on a thread of the learner, which waits. 0: never.
  int copy_every = 0;
  OnLabelCopy on_copy = {};
  /// Nothing: what goes wrong stays wrong, as in the papers.
  std::optional<LabelSafety> safety = {};
  /// Gives up making the learner, between two layers that are built or tried.
  std::stop_token stop = {};
};

/// The learner of labels behind the interface that the service knows: each picture of a camera is a
/// sample.
struct LabelStreamOptions {
  /// Its sample_shape is made from what follows. Without cuts the network is cut by measured cost.
  LabelLearnerOptions learner = {};
  /// Size of the pictures, in pixels.
  int width = 32;
  int height = 32;
  /// Whether the network sees them in grey or in colour.
  bool grey = true;
  /// Gives up making the learner, between two layers that are measured or built.
  std::stop_token stop = {};
};

}  // namespace millrace::pipeline
