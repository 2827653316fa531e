// What a checkpoint says beside the network: counters, how the samples went through it, and where
// their source was.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "pipeline/learner/learner_safety.h"

namespace millrace::pipeline {

struct CheckpointFacts {
  /// What is learned, in words. Empty: it does not say.
  std::string task = {};
  /// On which all that is random depends, beside a sample's number. Nothing: it does not say.
  std::optional<std::uint64_t> seed = {};
  /// The schedule, the samples of its plan's pattern, and the pattern as PatternText() writes it.
  /// For people: what goes on is planned anew.
  std::string schedule = {};
  int samples_per_pattern = 1;
  std::string pattern = {};
  /// Of all processes so far; gradients and checkpoints are of each process alone and not kept.
  LearningFigures learning = {};
  SourcePosition position = {};
};

/// As they stand in a manifest, by name.
[[nodiscard]] std::map<std::string, std::string> WriteFacts(const CheckpointFacts& facts);

/// What WriteFacts() made. What is missing or no number is as in CheckpointFacts(): all of it can
/// be done without.
[[nodiscard]] CheckpointFacts ReadFacts(const std::map<std::string, std::string>& written);

}  // namespace millrace::pipeline
