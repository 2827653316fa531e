#include "pipeline/plan/plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace millrace::pipeline {

Step StepOf(const Plan& plan, const Operation& operation, std::int64_t period) {
  const std::int64_t first =
      plan.samples_per_pattern * (period - operation.shift) + operation.first;
  return {operation.kind, operation.stage, first, first + operation.count - 1};
}

int LeadBehind(const Plan& plan, int stage) {
  int lead = 0;
  for (; stage <= plan.stage_count(); ++stage) {
    lead = std::max(lead, plan.rules(stage).lead);
    // Such a stage does not depend on later ones.
    if (plan.rules(stage).gradient == GradientFrom::kOwnLoss) break;
  }
  return lead;
}

namespace {

// The same where an earlier rank's `stage` sends the gradients that this rank makes. At the end of
// the stream it sends more of them than the stage itself can use.
int LeadOfSending(const Plan& plan, int stage) {
  int lead = LeadBehind(plan, stage);
  for (const Channel& channel : plan.channels) {
    if (channel.from != stage || !plan.CarriesGradients(channel) || !plan.IsOwn(channel)) continue;
    lead = std::min(lead, LeadBehind(plan, channel.to));
  }
  return lead;
}

}  // namespace

bool Exists(const Plan& plan, const Step& step, std::int64_t samples) {
  if (step.first < 0) return false;
  if (step.kind == OperationKind::kForward) return step.last < samples;
  const bool sends = plan.rules(step.stage).rank == StageRank::kEarlier;
  const int lead = sends ? LeadOfSending(plan, step.stage) : LeadBehind(plan, step.stage);
  return step.last + lead < samples;
}

char Letter(OperationKind kind) {
  static constexpr char kLetters[kOperationKinds] = {'F', 'B', 'W', 'U'};
  return kLetters[static_cast<int>(kind)];
}

std::string_view Name(OperationKind kind) {
  static constexpr std::string_view kNames[kOperationKinds] = {"forward", "backward",
                                                               "weight gradient", "update"};
  return kNames[static_cast<int>(kind)];
}

std::string ToString(const Step& step) {
  const char letter[] = {Letter(step.kind), '\0'};
  if (step.first == step.last) return absl::StrCat(letter, step.stage, "(", step.first, ")");
  return absl::StrCat(letter, step.stage, "(", step.first, "..", step.last, ")");
}

std::string PatternText(const Plan& plan, const Operation* mark) {
  std::string text;
  for (std::size_t device = 0; device < plan.devices.size(); ++device) {
    absl::StrAppend(&text, "  device ", device, "  ");
    for (const Operation& operation : plan.devices[device]) {
      const Step in_pattern = StepOf(plan, operation, operation.shift);
      absl::StrAppend(&text, " ", ToString(in_pattern));
      if (operation.shift > 0) absl::StrAppend(&text, "-", operation.shift);
      if (&operation == mark) absl::StrAppend(&text, " <-- here ");
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

}  // namespace millrace::pipeline
