#include "pipeline/plan/plan_part.h"

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
  for (std::size_t i = 0; i < part.stages.size(); ++i) {
    StageRules& rules = part.stages[i];
    rules.rank = rank_of_stage[i] > rank   ? StageRank::kEarlier
                 : rank_of_stage[i] < rank ? StageRank::kLater
                                           : StageRank::kOwn;
  }
  std::vector<std::vector<Operation>> forwards(part.stages.size());
  std::vector<std::vector<Operation>> others(part.stages.size());
  for (std::vector<Operation>& order : part.devices) {
    for (const Operation& operation : order) {
      if (part.IsOwn(operation.stage)) continue;
      const bool is_forward = operation.kind == OperationKind::kForward;
      (is_forward ? forwards : others)[operation.stage - 1].push_back(Carrying(operation));
    }
    std::erase_if(order, [&](const Operation& one) { return !part.IsOwn(one.stage); });
  }
  std::erase_if(part.devices, [](const auto& order) { return order.empty(); });
  for (std::size_t i = 0; i < part.stages.size(); ++i) {
    if (part.stages[i].rank == StageRank::kOwn) continue;
    part.devices.push_back(std::move(forwards[i]));
    part.devices.push_back(std::move(others[i]));
  }
  return part;
}

}  // namespace millrace::pipeline
