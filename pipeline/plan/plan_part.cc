#include "pipeline/plan/plan_part.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"

namespace millrace::pipeline {
namespace {

// A stage elsewhere computes nothing here.
Operation Carrying(Operation operation) {
  operation.keeps = Keeps::kActivations;
  operation.weights = {};
  return operation;
}

void SetRanks(std::span<const int> rank_of_stage, int rank, Plan& part) {
  for (std::size_t i = 0; i < part.stages.size(); ++i) {
    StageRank& of_stage = part.stages[i].rank;
    if (rank_of_stage[i] > rank) of_stage = StageRank::kEarlier;
    if (rank_of_stage[i] < rank) of_stage = StageRank::kLater;
  }
}

// The operations of `part` on `stage`: its forwards, or all others.
std::vector<Operation> CarryingOf(const Plan& part, int stage, bool forwards) {
  std::vector<Operation> order;
  for (const std::vector<Operation>& of_device : part.devices) {
    for (const Operation& operation : of_device) {
      const bool is_forward = operation.kind == OperationKind::kForward;
      if (operation.stage == stage && is_forward == forwards) order.push_back(Carrying(operation));
    }
  }
  return order;
}

void MoveStagesElsewhere(Plan& part) {
  std::vector<std::vector<Operation>> moved;
  for (int stage = 1; stage <= part.stage_count(); ++stage) {
    if (part.IsOwn(stage)) continue;
    moved.push_back(CarryingOf(part, stage, /*forwards=*/true));
    moved.push_back(CarryingOf(part, stage, /*forwards=*/false));
  }
  for (std::vector<Operation>& order : part.devices) {
    std::erase_if(order, [&](const Operation& one) { return !part.IsOwn(one.stage); });
  }
  std::erase_if(part.devices, [](const auto& order) { return order.empty(); });
  std::ranges::move(moved, std::back_inserter(part.devices));
}

// The input of a stage elsewhere takes no memory here. One more lets the next input travel while
// the stage's activations are on their way back.
void AdmitAhead(Plan& part) {
  for (Channel& channel : part.channels) {
    if (channel.from == 0 && !part.IsOwn(channel.to)) ++channel.slots;
  }
}

}  // namespace

absl::Status CheckRanks(const Plan& plan, std::span<const int> rank_of_stage) {
  const auto wrong = [&](const std::string& why) {
    return absl::InvalidArgumentError(
        absl::StrCat("the ranks of the stages are ", absl::StrJoin(rank_of_stage, " "), "; ", why));
  };
  if (static_cast<int>(rank_of_stage.size()) != plan.stage_count()) {
    return wrong(absl::StrCat("name one for each of ", plan.stage_count(), " stages"));
  }
  if (rank_of_stage.empty() || rank_of_stage.back() != 0) {
    return wrong("the last stage is on rank 0, which has the loss");
  }
  for (std::size_t i = 0; i + 1 < rank_of_stage.size(); ++i) {
    const int step = rank_of_stage[i] - rank_of_stage[i + 1];
    if (step != 0 && step != 1) {
      return wrong("they fall from stage to stage, by one or not at all, as 1 1 0");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Plan> PartOf(const Plan& plan, std::span<const int> rank_of_stage, int rank) {
  MILLRACE_RETURN_IF_ERROR(CheckRanks(plan, rank_of_stage));
  if (rank < 0 || rank > rank_of_stage.front()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no rank ", rank, "; the ranks are 0 to ", rank_of_stage.front()));
  }
  Plan part = plan;
  SetRanks(rank_of_stage, rank, part);
  MoveStagesElsewhere(part);
  AdmitAhead(part);
  return part;
}

}  // namespace millrace::pipeline
