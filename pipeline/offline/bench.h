// Measures schedules, numbers of stages and networks against plain LibTorch, all in one run.
//
// Other work on the machine disturbs measurements, so contenders take turns. All contenders of a
// network exist from its start to its end. Each turn of a contender is compared with the baseline's
// turn of the same number.
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
  /// In each turn.
  int samples = 20;
  int turns = 5;
  int threads_per_stage = 1;
  OptimizerOptions optimizer = {.learning_rate = 1e-5};
  /// Called with the number of completed turns and the number of all turns. May be empty.
  std::function<void(std::int64_t done, std::int64_t all)> on_turn = {};
  /// The device of all contenders: "cpu", or a GPU in the format of FindDevices().
  std::string device = "cpu";
};

/// One contender.
struct BenchRow {
  std::string network;
  /// A schedule, or a baseline: "LibTorch, 1 thread", "LibTorch, all threads", "LibTorch, 2
  /// copies"; on a GPU "LibTorch".
  std::string schedule;
  /// On a GPU: stages launch captured graphs, instead of single kernels.
  bool captures = false;
  /// 0 for a baseline.
  int stages = 0;
  int devices = 0;
  /// Of each device.
  int threads = 1;
  /// The first layer of each stage except the first, by name.
  std::vector<std::string> cuts = {};
  std::vector<BenchTurn> turns = {};
};

/// One row for each combination, network by network, the baselines first. The first row of each
/// network is its baseline for comparison. On a GPU, each combination appears twice: with single
/// kernels, and captured. `report` is called with each step. Before any measurement it fails with
/// INVALID_ARGUMENT, saying what is allowed, and as FindDevices() does; later it fails with the
/// cause. Changes LibTorch's number of threads for the calling thread.
[[nodiscard]] absl::StatusOr<std::vector<BenchRow>> RunBench(
    const BenchOptions& options, const std::function<void(const std::string&)>& report);

}  // namespace millrace::pipeline
