// Functions that a learner calls, and the request that cancels its making. Free of LibTorch.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "pipeline/learner/learner_safety.h"
#include "pipeline/wires/rank_group.h"

namespace millrace::pipeline {

/// Passed to one making of a learner, beside its options. Each function may be empty.
struct LearnerHooks {
  /// Cancels the making of the learner, between two layers that are built or measured.
  std::stop_token stop = {};
  /// Joins the other ranks, which run FollowFlow() or FollowLabels(), if the stages have several.
  /// Called on a thread of its own, at the start and after each loss of a rank. Outlives the
  /// learner. Empty: stages on other ranks are refused.
  JoinRanks join_ranks = {};
  /// Called for each checkpoint, from a thread of the learner. The checkpoint stores the position,
  /// and Resumption returns it.
  std::function<SourcePosition()> position = {};
  /// Called with the result of each attempt to write a checkpoint, from a thread of the learner.
  std::function<void(const CheckpointWritten&)> on_write = {};
  /// Called once under each plan for a stage whose GPU operations cannot be captured, with the
  /// reason. Such a stage launches its kernels one by one. Called on the thread that admits.
  std::function<void(int stage, const std::string& why)> on_not_captured = {};
};

}  // namespace millrace::pipeline
