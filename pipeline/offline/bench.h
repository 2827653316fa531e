// Measures schedules, numbers of stages and networks against LibTorch alone, all in one run.
//
// On a machine that does other things too, only what takes turns can be compared: all contenders of
// a network live from its start to its end, and each turn of one is held against the baseline's
// same turn.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/models/bench_networks.h"
#include "pipeline/offline/bench_turn.h"
#include "pipeline/optim/optimizer.h"

namespace millrace::pipeline {

struct BenchOptions {
  std::vector<std::string> networks = {"conv", "unet_portals", "unet_carried"};
  std::vector<std::string> schedules = {"sequential", "partime", "one_f_one_b_star"};
  std::vector<int> stages = {2};
  BenchNetworkOptions network = {};
  /// Of each turn.
  int samples = 20;
  int turns = 5;
  int threads_per_stage = 1;
  OptimizerOptions optimizer = {.learning_rate = 1e-5};
  /// Told how many turns have been taken, of how many. May be empty.
  std::function<void(std::int64_t done, std::int64_t all)> on_turn = {};
  /// Where all of it computes: "cpu", or a GPU as DevicesNamed() has it.
  std::string device = "cpu";
};

/// One contender.
struct BenchRow {
  std::string network;
  /// Or a baseline: "LibTorch, 1 thread", "LibTorch, all threads", "LibTorch, 2 copies"; on a GPU
  /// "LibTorch".
  std::string schedule;
  /// On a GPU: stages launch what they have captured, instead of one kernel after the other.
  bool captures = false;
  /// 0: a baseline, which has none.
  int stages = 0;
  int devices = 0;
  /// Of each device.
  int threads = 1;
  /// The first layer of every stage but the first, by name.
  std::vector<std::string> cuts = {};
  std::vector<BenchTurn> turns = {};
};

/// One row for each combination, network by network, the baselines first: what the others are held
/// against is the first of each network. On a GPU each combination is there twice: kernel by
/// kernel, and captured. `report` is told what is being done. Fails with INVALID_ARGUMENT, saying
/// what is allowed, before anything is measured, and as DevicesNamed(); later with the cause.
/// Changes the calling thread's number of LibTorch's threads.
[[nodiscard]] absl::StatusOr<std::vector<BenchRow>> RunBench(
    const BenchOptions& options, const std::function<void(const std::string&)>& report);

}  // namespace millrace::pipeline
