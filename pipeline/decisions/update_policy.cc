#include "pipeline/decisions/update_policy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"

namespace millrace::pipeline {
namespace {

using Kind = UpdatePolicyOptions::Kind;

constexpr std::array<std::pair<std::string_view, Kind>, 4> kKinds = {
    {{"every", Kind::kEvery}, {"mag", Kind::kMag}, {"diff", Kind::kDiff}, {"div", Kind::kDiv}}};

absl::Status CheckAtLeast(std::string_view name, double value, double min) {
  if (value >= min) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(name), " is ", value, "; it must be at least ", min));
}

absl::Status CheckShare(std::string_view name, double value) {
  if (0 <= value && value <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(name), " is ", value, "; it must be from 0 to 1"));
}

}  // namespace

const std::vector<std::string>& UpdatePolicyNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& [name, kind] : kKinds) all.emplace_back(name);
    return all;
  }();
  return names;
}

absl::StatusOr<Kind> UpdatePolicyKind(std::string_view name) {
  const auto* const found =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& k) { return k.first == name; });
  if (found != kKinds.end()) return found->second;
  return absl::InvalidArgumentError(
      absl::StrCat("there is no policy \"", std::string(name),
                   "\"; use one of: ", absl::StrJoin(UpdatePolicyNames(), ", ")));
}

absl::Status CheckUpdatePolicy(const UpdatePolicyOptions& options) {
  absl::Status status = CheckAtLeast("every", options.every, 1);
  status.Update(CheckShare("moving_share", options.moving_share));
  status.Update(CheckAtLeast("moving_pixels", options.moving_pixels, 0));
  status.Update(CheckShare("difference", options.difference));
  status.Update(CheckAtLeast("divergence", options.divergence, 0));
  status.Update(CheckAtLeast("warm_up", static_cast<double>(options.warm_up), 0));
  status.Update(CheckAtLeast("force_after", options.force_after, 0));
  return status;
}

UpdatePolicy::UpdatePolicy(const UpdatePolicyOptions& options, std::int64_t first_sample)
    : options_(options), first_sample_(first_sample), last_sample_(first_sample - 1) {
  MILLRACE_CHECK(CheckUpdatePolicy(options).ok());
}

bool UpdatePolicy::Learns(const SampleFigures& figures) {
  const bool learns = figures.sample - first_sample_ < options_.warm_up ||
                      IsForced(figures.sample) || Wants(figures);
  if (learns) {
    last_sample_ = figures.sample;
    last_motion_ = figures.motion;
  }
  return learns;
}

bool UpdatePolicy::IsForced(std::int64_t sample) const {
  return options_.force_after > 0 && sample - last_sample_ >= options_.force_after;
}

bool UpdatePolicy::Wants(const SampleFigures& figures) const {
  switch (options_.kind) {
    case Kind::kEvery:
      return figures.sample % options_.every == 0;
    case Kind::kDiff:
      return figures.difference > options_.difference;
    case Kind::kMag:
      return figures.motion.moving_share > options_.moving_share;
    case Kind::kDiv:
      break;
  }
  if (last_sample_ < first_sample_) return true;
  const double change = std::hypot(figures.motion.mean_x - last_motion_.mean_x,
                                   figures.motion.mean_y - last_motion_.mean_y);
  return change > options_.divergence * std::hypot(last_motion_.mean_x, last_motion_.mean_y);
}

}  // namespace millrace::pipeline
