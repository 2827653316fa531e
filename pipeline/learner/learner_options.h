// Options that all learners share. flow_task_options.h and label_task_options.h add the options of
// one task. Free of LibTorch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "pipeline/learner/learner_safety.h"
#include "pipeline/learner/optimizer_options.h"
#include "pipeline/schedules/schedules.h"

namespace millrace::pipeline {

/// How a learner is cut, planned and run, what it starts from and what it keeps.
struct LearnerOptions {
  /// Size of the pictures in pixels. For flow: at least 64, and a multiple that the network
  /// defines.
  int width = 320;
  int height = 240;
  /// One of ScheduleNames() (schedules.h), or "auto", which plans for the frame rate.
  /// For flow also "local", with the network "levels" only.
  ///
  std::string schedule = "one_f_one_b_star";
  /// Number of stages, each with its own worker thread. For "auto": the largest number.
  int stages = 2;
  /// For "auto": the camera's frame rate.
  double frames_per_second = 0;
  /// For "auto": plans again when a stage's time moves by more than this share of the slowest
  /// stage's planned time. 0: never.
  double replan_share = 0.25;
  /// The schedule's options, with the period in milliseconds; the learner fills in shape and costs.
  ScheduleRequest request = {};
  /// The first layer of each stage except the first, counted from 0. Empty: cut by measured cost.
  std::vector<int> cuts = {};
  /// A file of initial weights, made by `millrace pretrain`, `millrace export` or PyTorch. Empty:
  /// random weights, or the weights in the network's file.
  std::string weights = {};
  OptimizerOptions optimizer = {};
  /// A factor on the learning rate for each stage. Empty: 1. REQUIRES: as many as stages, and not
  /// "auto".
  std::vector<double> stage_rates = {};
  /// The rank of each stage (plan_part.h). Empty: this process runs all stages. With "auto", these
  /// are the stages. REQUIRES: as many as stages, with LearnerHooks::join_ranks. The schedule is
  /// not "local", and all devices are the CPU.
  std::vector<int> rank_of_stage = {};
  /// Copies the weights every n samples, for roll-backs. At least 1.
  int copy_every = 100;
  CheckpointOptions checkpoints = {};
  /// Seeds the random weights, and the random numbers of layers while they learn.
  std::uint64_t seed = 0;
  /// Threads of each operation.
  int threads_per_stage = 1;
  /// For flow: the devices of the stages, one for all or one for each stage. Each is "cpu", "cuda"
  /// (the first GPU) or "cuda:N". A single "auto" lets ChooseDevices() decide. The schedule "auto"
  /// takes one device. Empty: the CPU.
  std::vector<std::string> devices = {};
  /// Stages on GPUs capture their operations once and launch them as CUDA graphs.
  bool captures = true;
  /// Times the operations while they run; outlives the learner.
  const Clock* clock = &MonotonicClock();
};

}  // namespace millrace::pipeline
