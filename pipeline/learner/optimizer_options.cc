#include "pipeline/learner/optimizer_options.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"

namespace millrace::pipeline {
namespace {

using Kind = OptimizerOptions::Kind;

struct Listed {
  const char* name;
  const char* state;
  int tensors;
};

constexpr Listed kOptimizers[] = {
#define MILLRACE_OPTIMIZER(kind, name, state, tensors) {name, state, tensors},
#include "pipeline/learner/optimizer_list.h"
#undef MILLRACE_OPTIMIZER
};

bool IsPlainSgd(const OptimizerOptions& options) {
  return options.kind == Kind::kSgd && options.momentum == 0;
}

// These limits keep every update finite: see Optimizer::Step().
constexpr double kMaxRate = 1e6;
constexpr double kMinEps = 1e-12;
constexpr double kMinClip = 1e-6;
constexpr double kMaxClip = 1e9;

absl::Status CheckRange(const char* name, double value, bool fits, const char* allowed) {
  if (fits && std::isfinite(value)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the optimizer's ", name, " is ", value, "; it must be ", allowed));
}

absl::Status CheckSgdOnly(const OptimizerOptions& options) {
  if (options.kind != Kind::kSgd &&
      (options.momentum != 0 || options.nesterov || options.spike_compensation)) {
    return absl::InvalidArgumentError(
        "momentum, nesterov and spike compensation are options of the optimizer sgd only");
  }
  if (options.momentum == 0 && (options.nesterov || options.spike_compensation)) {
    return absl::InvalidArgumentError("nesterov and spike compensation need a momentum above 0");
  }
  if (options.nesterov && options.spike_compensation) {
    return absl::InvalidArgumentError("use either nesterov or spike compensation, not both");
  }
  return absl::OkStatus();
}

}  // namespace

const std::vector<std::string>& OptimizerNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Listed& listed : kOptimizers) all.emplace_back(listed.name);
    return all;
  }();
  return names;
}

absl::StatusOr<Kind> OptimizerKind(std::string_view name) {
  const std::vector<std::string>& names = OptimizerNames();
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<Kind>(found - names.begin());
  return absl::InvalidArgumentError(absl::StrCat("there is no optimizer \"", std::string(name),
                                                 "\"; use one of: ", absl::StrJoin(names, ", ")));
}

std::string OptimizerStateInWords(const OptimizerOptions& options) {
  if (IsPlainSgd(options)) return "sgd without momentum";
  return kOptimizers[static_cast<std::size_t>(options.kind)].state;
}

int OptimizerStateTensors(const OptimizerOptions& options) {
  return IsPlainSgd(options) ? 0 : kOptimizers[static_cast<std::size_t>(options.kind)].tensors;
}

absl::Status CheckOptimizer(const OptimizerOptions& o) {
  const auto below_one = [](double value) { return value >= 0 && value < 1; };
  MILLRACE_RETURN_IF_ERROR(CheckRange("learning rate", o.learning_rate,
                                      o.learning_rate >= 0 && o.learning_rate <= kMaxRate,
                                      "from 0 to 1,000,000"));
  MILLRACE_RETURN_IF_ERROR(
      CheckRange("momentum", o.momentum, below_one(o.momentum), "0 or more and less than 1"));
  MILLRACE_RETURN_IF_ERROR(CheckRange("weight decay", o.weight_decay,
                                      o.weight_decay >= 0 && o.weight_decay <= 1, "from 0 to 1"));
  MILLRACE_RETURN_IF_ERROR(
      CheckRange("beta1", o.beta1, below_one(o.beta1), "0 or more and less than 1"));
  MILLRACE_RETURN_IF_ERROR(
      CheckRange("beta2", o.beta2, below_one(o.beta2), "0 or more and less than 1"));
  MILLRACE_RETURN_IF_ERROR(CheckRange("eps", o.eps, o.eps >= kMinEps, "1e-12 or more"));
  MILLRACE_RETURN_IF_ERROR(CheckRange("clip norm", o.clip_norm, o.clip_norm >= 0, "0 or more"));
  MILLRACE_RETURN_IF_ERROR(
      CheckRange("clip update", o.clip_update,
                 o.clip_update == 0 || (o.clip_update >= kMinClip && o.clip_update <= kMaxClip),
                 "0, or from 0.000001 to 1,000,000,000"));
  MILLRACE_RETURN_IF_ERROR(CheckRange("number of PipeMare steps",
                                      static_cast<double>(o.pipemare_steps), o.pipemare_steps >= 0,
                                      "0 or more"));
  return CheckSgdOnly(o);
}

}  // namespace millrace::pipeline
