#include "pipeline/plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace millrace::pipeline {

Step StepOf(const Plan& plan, const Operation& operation, std::int64_t period) {
  const std::int64_t first =
      plan.samples_per_pattern * (period - operation.shift) + operation.first;
  return {operation.kind, operation.stage, first, first + operation.count - 1};
}

bool Exists(const Plan& plan, const Step& step, std::int64_t samples) {
  if (step.first < 0) return false;
  if (step.kind == OperationKind::kForward) return step.last < samples;
  int lead = 0;
  for (int stage = step.stage; stage <= plan.stage_count(); ++stage) {
    lead = std::max(lead, plan.rules(stage).lead);
  }
  return step.last + lead < samples;
}

std::string ToString(const Step& step) {
  static constexpr char kLetters[kOperationKinds] = {'F', 'B', 'U'};
  const char letter[] = {kLetters[static_cast<int>(step.kind)], '\0'};
  if (step.first == step.last) return absl::StrCat(letter, step.stage, "(", step.first, ")");
  return absl::StrCat(letter, step.stage, "(", step.first, "..", step.last, ")");
}

}  // namespace millrace::pipeline
