#include "pipeline/decisions/sample_label.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/plural.h"

namespace millrace::pipeline {
namespace {

bool IsValue(float v) { return std::abs(v) <= kMaxLabelValue; }  // False for a NaN.

}  // namespace

absl::Status CheckLabel(const SampleLabel& label, LabelTask task, int outputs) {
  if (task == LabelTask::kClassification) {
    const auto* const number = std::get_if<std::int64_t>(&label);
    if (number != nullptr && *number >= 0 && *number < outputs) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(number != nullptr ? absl::StrCat("class ", *number) : "a list of values",
                     " is no label of this model; a class of 0 to ", outputs - 1, " is"));
  }
  const auto* const values = std::get_if<std::vector<float>>(&label);
  if (values != nullptr && static_cast<int>(values->size()) == outputs &&
      std::all_of(values->begin(), values->end(), IsValue)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      values != nullptr ? absl::StrCat("a list of ", Plural(values->size(), "value")) : "a class",
      " is no label of this model; ", outputs,
      outputs == 1 ? " finite value of at most 1e6 is" : " finite values of at most 1e6 are"));
}

}  // namespace millrace::pipeline
