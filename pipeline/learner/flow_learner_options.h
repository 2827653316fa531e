// Options of the learner of optical flow. Free of LibTorch.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "pipeline/decisions/learning_decisions.h"
#include "pipeline/learner/flow_loss_options.h"
#include "pipeline/learner/learner_safety.h"
#include "pipeline/learner/precision.h"

namespace millrace::pipeline {

/// Options of the learner of optical flow.
struct FlowLearnerOptions {
  /// One of FlowNetworkNames() (named_flow_network.h), or the user's own network: a *.pt file saved
  /// by torch.jit (open_flow_network.h).
  std::string network = "flow";
  /// Size of the pictures in pixels: at least 64, and a multiple that the network defines.
  int width = 320;
  int height = 240;
  /// One of ScheduleNames() (schedules.h), "local" with the network "levels" only; or "auto", which
  /// plans for the frame rate.
  std::string schedule = "one_f_one_b_star";
  /// Number of stages, each with its own worker thread. For "auto": the largest number.
  int stages = 2;
  /// For "auto": the camera's frame rate.
  double frames_per_second = 0;
  /// For "auto": plans again when a stage's time moves by more than this share of the slowest
  /// stage's planned time. 0: never.
  double replan_share = 0.25;
  /// gpipe's and timeprest's micro-batches, pipedream_2bw's samples for each update, k_periodic's
  /// samples for each pattern. 0: the schedule's own choice.
  int samples = 0;
  /// For gpipe: which micro-batches keep only their inputs: "always", "except_last" or "never".
  std::string recompute = "always";
  /// For hybrid: the sample before which it becomes sequential.
  std::int64_t switch_at = 1000;
  /// Delays samples that would only wait inside the pipeline.
  bool gate = true;
  /// The first layer of each stage except the first, counted from 0. Empty: cut by measured cost.
  std::vector<int> cuts = {};
  /// `one_f_one_b_star` only: the T that its groups must fit into, in milliseconds. 0: the shortest
  /// possible.
  double period_ms = 0;
  /// A file made by `millrace pretrain`, `millrace export` or PyTorch. Empty: random weights, or
  /// the weights in the network's file.
  std::string weights = {};
  double learning_rate = 1e-4;
  Precision precision = Precision::kFloat32;
  /// The loss that it learns by.
  FlowLossOptions loss = {};
  /// Predicts the next picture, and learns from it, instead of the past motion (next_frame.h). A
  /// sample is then three pictures.
  bool next_frame = false;
  /// The rules for the samples to learn from, and for weights that have gone wrong.
  LearningOptions learning = {};
  /// Copies the weights every n samples, for roll-backs. At least 1.
  int copy_every = 100;
  CheckpointOptions checkpoints = {};
  /// Seeds the random weights, and the random numbers of layers while they learn.
  std::uint64_t seed = 0;
  /// Threads of each operation.
  int threads_per_stage = 1;
  /// The devices of the stages: "cpu", "cuda" (the first GPU) or "cuda:N", one for all or one for
  /// each stage; or "auto", as ChooseDevices() says. The schedule "auto" takes one device. Empty:
  /// the CPU. With a GPU there is no gate.
  std::vector<std::string> devices = {};
  /// Stages on GPUs capture their operations once and launch them as CUDA graphs.
  bool captures = true;
  /// Called once under each plan for a stage whose GPU operations cannot be captured, with the
  /// reason. Such a stage launches its kernels one by one. Called on the thread that admits. May be
  /// empty.
  std::function<void(int stage, const std::string& why)> on_not_captured = {};
  /// Cancels the making of the learner, between the measurements of two layers.
  std::stop_token stop = {};
  /// Times the operations while they run; outlives the learner.
  const Clock* clock = &MonotonicClock();
};

}  // namespace millrace::pipeline
