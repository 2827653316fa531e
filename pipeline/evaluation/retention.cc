#include "pipeline/evaluation/retention.h"

#include <utility>

#include "base/status.h"

namespace millrace::pipeline {
namespace {

bool IsOwnBegin(const FrozenTest& test) {
  return !test.other && test.part == FrozenTest::Part::kFirst;
}

absl::Status AddInitial(const FlowRunOptions& options, FlowRunResult& result) {
  FlowRunOptions unlearned = options;
  unlearned.learns = false;
  MILLRACE_ASSIGN_OR_RETURN(const FlowRunResult tried, RunFlow(unlearned));
  for (std::size_t i = 0; i < result.frozen.size(); ++i) {
    result.frozen[i].initial = tried.frozen[i].scores;
  }
  return absl::OkStatus();
}

absl::Status AddRightAfter(const FlowRunOptions& options, const FrozenTest& test,
                           FlowRunResult::Frozen& tested) {
  FlowRunOptions first_window = options;
  first_window.clip = FirstPart(options.clip, options.window);
  first_window.frozen = {test};
  MILLRACE_ASSIGN_OR_RETURN(const FlowRunResult tried, RunFlow(first_window));
  tested.right_after = tried.frozen.front().scores;
  return absl::OkStatus();
}

std::optional<double> Less(const std::optional<StreamScores>& from,
                           const std::optional<StreamScores>& taken) {
  if (!from || !taken) return std::nullopt;
  if (!(from->loss.loss_no_motion > 0 && taken->loss.loss_no_motion > 0)) return std::nullopt;
  return from->loss.ratio() - taken->loss.ratio();
}

}  // namespace

absl::StatusOr<FlowRunResult> RunFlowAndCompare(const FlowRunOptions& options) {
  MILLRACE_ASSIGN_OR_RETURN(FlowRunResult result, RunFlow(options));
  if (options.frozen.empty()) return result;
  MILLRACE_RETURN_IF_ERROR(AddInitial(options, result));
  for (std::size_t i = 0; i < options.frozen.size(); ++i) {
    FlowRunResult::Frozen& tested = result.frozen[i];
    const bool whole_clip = tested.scores.loss.predictions == result.pairs;
    if (!IsOwnBegin(options.frozen[i]) || whole_clip) continue;
    MILLRACE_RETURN_IF_ERROR(AddRightAfter(options, options.frozen[i], tested));
  }
  return result;
}

std::optional<double> Forgetting(const FlowRunResult::Frozen& test) {
  return Less(test.scores, test.right_after);
}

std::optional<double> Transfer(const FlowRunResult::Frozen& test) {
  return test.other ? Less(test.initial, test.scores) : std::nullopt;
}

}  // namespace millrace::pipeline
