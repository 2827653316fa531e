// How to make the learner of optical flow. Free of LibTorch.
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

/// How to make the learner of optical flow.
struct FlowLearnerOptions {
  /// One of FlowNetworkNames() (flow_networks.h), or a user's own network: a file that torch.jit
  /// saved, *.pt (open_flow_network.h).
  std::string network = "flow";
  /// Size of the pictures, in pixels: at least 64, multiples of what the network asks for.
  int width = 320;
  int height = 240;
  /// One of ScheduleNames() (schedules.h), "local" with the network "levels" only; or "auto":
  /// planned for the frame rate.
  std::string schedule = "one_f_one_b_star";
  /// Number of stages, each with a worker thread of its own; "auto": at most so many.
  int stages = 2;
  /// "auto": the camera's frame rate.
  double frames_per_second = 0;
  /// "auto": plans again when what a stage takes moves by more than this share of what the slowest
  /// stage was planned to take. 0: never.
  double replan_share = 0.25;
  /// gpipe's and timeprest's micro-batches, pipedream_2bw's samples an update, k_periodic's samples
  /// a pattern. 0: the schedule's own choice.
  int samples = 0;
  /// gpipe: which micro-batches are kept as inputs: "always", "except_last" or "never".
  std::string recompute = "always";
  /// hybrid: the sample before which it becomes sequential.
  std::int64_t switch_at = 1000;
  /// Holds samples back that would only wait inside the pipeline.
  bool gate = true;
  /// The layer that starts each stage after the first, counted from 0. Empty: cut by measured cost.
  std::vector<int> cuts = {};
  /// `one_f_one_b_star` only: the T that its groups must fit into, in milliseconds. 0: the least
  /// possible.
  double period_ms = 0;
  /// A file made by `millrace pretrain`, `millrace export` or PyTorch. Empty: start from random
  /// weights, or those of a network's file.
  std::string weights = {};
  double learning_rate = 1e-4;
  Precision precision = Precision::kFloat32;
  /// By what it learns.
  FlowLossOptions loss = {};
  /// The picture to come is predicted, and learned from, instead of the motion that was
  /// (next_frame.h). A sample is three pictures.
  bool next_frame = false;
  /// From which samples to learn, and when the weights have gone wrong.
  LearningOptions learning = {};
  /// A copy of the weights is taken every so many samples, to go back to. At least 1.
  int copy_every = 100;
  CheckpointOptions checkpoints = {};
  /// Seeds the random weights, and what layers draw at random while they learn.
  std::uint64_t seed = 0;
  /// Threads inside an operation.
  int threads_per_stage = 1;
  /// Where the stages compute: "cpu", "cuda" (the first GPU) or "cuda:N", one for all or one for
  /// each stage; or "auto", as ChooseDevices() says. With the schedule "auto" one. Empty: the CPU.
  /// No gate where one of them is a GPU.
  std::vector<std::string> devices = {};
  /// Stages on GPUs capture their operations once and launch them as CUDA graphs.
  bool captures = true;
  /// Told, once under each plan, of a stage whose operations on a GPU are launched kernel by kernel
  /// for good, and why. On the thread that admits. May be empty.
  std::function<void(int stage, const std::string& why)> on_not_captured = {};
  /// Gives up making the learner, between two layers that are measured.
  std::stop_token stop = {};
  /// What operations are timed with while they run; outlives the learner.
  const Clock* clock = &MonotonicClock();
};

}  // namespace millrace::pipeline
