// The metadata of a checkpoint besides the network: counters, the schedule, and the source's
// position.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "pipeline/learner/learner_safety.h"

namespace millrace::pipeline {

struct CheckpointFacts {
  /// The learning task, as text. Empty: not recorded.
  std::string task = {};
  /// The seed that, with a sample's number, determines all random numbers. nullopt: not recorded.
  std::optional<std::uint64_t> seed = {};
  /// OptimizerStateInWords(). Versions before it was recorded had "rmsprop" in all streams.
  std::string optimizer = "rmsprop";
  /// The schedule, the samples of its plan's pattern, and the pattern as PatternText() writes it.
  /// For human readers: a resumed learner plans again.
  std::string schedule = {};
  int samples_per_pattern = 1;
  std::string pattern = {};
  /// Totals over all processes. Gradients and checkpoints count for one process only and are not
  /// kept.
  LearningFigures learning = {};
  SourcePosition position = {};
};

/// The facts as a manifest stores them, by name.
[[nodiscard]] std::map<std::string, std::string> WriteFacts(const CheckpointFacts& facts);

/// Reads the result of WriteFacts(). A fact that is missing or not a number keeps the default of
/// CheckpointFacts(): all facts are optional.
[[nodiscard]] CheckpointFacts ReadFacts(const std::map<std::string, std::string>& written);

/// Fails with FAILED_PRECONDITION, naming `folder` and both tasks, if the checkpoint was learned
/// for another task. The same network may learn several tasks; without this check, its weights
/// could silently be used for the wrong one.
[[nodiscard]] absl::Status CheckTask(const CheckpointFacts& facts, const std::string& folder,
                                     const std::string& task);

/// Fails with FAILED_PRECONDITION if the checkpoint has another seed. Another seed means another
/// random sequence, to which this checkpoint does not belong. A checkpoint without a seed is from a
/// version whose learning did not depend on it.
[[nodiscard]] absl::Status CheckSeed(const CheckpointFacts& facts, const std::string& folder,
                                     std::uint64_t seed);

}  // namespace millrace::pipeline
