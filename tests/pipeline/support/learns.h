// Whether a learner learned, for all tests named Learns. Counters do not show it: they also count
// an update that changes nothing.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <mutex>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "base/regular_file.h"
#include "pipeline/flow/flow_learner.h"
#include "pipeline/flow/flow_profile.h"
#include "pipeline/learner/learner.h"
#include "pipeline/models/open_flow_network.h"
#include "pipeline/offline/export_weights.h"
#include "pipeline/tensor_files/safetensors.h"

namespace millrace::pipeline {

/// The mean of the last quarter of `losses`, as a share of the mean of the first quarter. Losses
/// are prequential, each from before its sample was learned from. REQUIRES: four or more.
inline double LossLeft(std::span<const double> losses) {
  const std::size_t quarter = losses.size() / 4;
  const auto sum = [](std::span<const double> some) {
    return std::accumulate(some.begin(), some.end(), 0.0);
  };
  return sum(losses.last(quarter)) / sum(losses.first(quarter));
}

/// A learner of moving stripes or waves that leaves more of its loss than this has not learned: one
/// that does leaves 0.28 to 0.49 after 100 samples or more, one that does not all of it.
inline constexpr double kLearned = 0.75;

/// A run of a learner of optical flow: its predictions, and the change of its weights.
struct FlowRun {
  std::vector<ModelPrediction> predictions;
  LearnerDescription description;
  std::vector<std::int64_t> updates;
  /// Kept to the end.
  std::vector<PastOperation> operations;
  /// Stages, from 1, one of whose parameters is at the end what it was at the start.
  std::vector<int> stages_that_stood;

  /// The loss of each prediction, as a share of the loss of no motion.
  [[nodiscard]] std::vector<double> Ratios() const {
    std::vector<double> ratios;
    for (const ModelPrediction& made : predictions) {
      ratios.push_back(made.loss / made.loss_no_motion);
    }
    return ratios;
  }
};

/// Compares the newest checkpoint in `options.checkpoints.folder` with what the options start from.
inline std::vector<int> StagesThatStood(const LearnerOptions& options, const FlowTaskOptions& task,
                                        const LearnerDescription& description) {
  const std::string file = options.checkpoints.folder + ".safetensors";
  const auto exported = ExportWeights(
      {.network = task.network, .checkpoints = options.checkpoints.folder, .output = file});
  EXPECT_TRUE(exported.ok()) << exported.status();
  const auto bytes = ReadFile(file);
  std::filesystem::remove(file);
  const auto chain = OpenFlowChain(options, task);
  EXPECT_TRUE(bytes.ok() && chain.ok());
  if (!bytes.ok() || !chain.ok()) return {};
  const NamedTensors after = DecodeSafeTensors(*bytes)->tensors;
  std::vector<int> stood;
  std::size_t next = 0;
  std::size_t layer = 0;
  for (std::size_t stage = 0; stage < description.stages.size(); ++stage) {
    bool moved = true;
    for (std::size_t i = 0; i < description.stages[stage].layers.size(); ++i, ++layer) {
      for (const at::Tensor& before : chain->layers.at(layer)->parameters()) {
        moved &= !at::equal(before.detach(), after.at(next++).second);
      }
    }
    if (!moved) stood.push_back(static_cast<int>(stage) + 1);
  }
  EXPECT_EQ(next, after.size());
  return stood;
}

/// Has a learner of `options` and `task` see `samples` pairs of pictures, each `picture(i)` and
/// `picture(i + 1)`. Keeps a checkpoint, in a folder that is gone afterwards.
inline FlowRun RunFlowLearner(LearnerOptions options, const FlowTaskOptions& task, int samples,
                              const std::function<std::vector<std::uint8_t>(int)>& picture) {
  const std::string folder = testing::TempDir() + "/learns-" + std::to_string(::getpid());
  options.checkpoints.folder = folder;
  FlowRun run;
  std::mutex mu;
  auto learner = MakeFlowLearner(options, task, [&](ModelPrediction prediction) {
    const std::lock_guard lock(mu);
    run.predictions.push_back(std::move(prediction));
  });
  EXPECT_TRUE(learner.ok()) << learner.status();
  if (!learner.ok()) return run;
  for (int i = 0; i < samples; ++i) {
    const auto number = (*learner)->Admit({.previous = picture(i), .current = picture(i + 1)});
    EXPECT_TRUE(number.ok()) << number.status();
    EXPECT_EQ(number.value_or(-1), i);
  }
  EXPECT_TRUE((*learner)->Drain().ok());
  run.description = *(*learner)->description();
  run.updates = (*learner)->updates();
  run.operations = (*learner)->OperationsSince(nanoseconds(0));
  learner->reset();  // Its folder is free then.
  run.stages_that_stood = StagesThatStood(options, task, run.description);
  std::filesystem::remove_all(folder);
  return run;
}

}  // namespace millrace::pipeline
