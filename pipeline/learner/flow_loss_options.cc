#include "pipeline/learner/flow_loss_options.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace millrace::pipeline {
namespace {

using Kind = FlowLossOptions::Kind;

struct NamedKind {
  std::string_view name;
  Kind kind;
  std::string_view data_term;
};

constexpr std::array<NamedKind, 5> kKinds = {
    {{"relative", Kind::kRelative, "photometric"},
     {"census", Kind::kCensus, "census"},
     {"ssim", Kind::kSsim, "ssim"},
     {"photo_and_smooth", Kind::kPhotoAndSmooth, "photometric"},
     {"hs", Kind::kHs, "invariance"}}};

}  // namespace

const std::vector<std::string>& FlowLossNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const NamedKind& kind : kKinds) all.emplace_back(kind.name);
    return all;
  }();
  return names;
}

absl::StatusOr<Kind> FlowLossKind(std::string_view name) {
  const auto* const found =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& k) { return k.name == name; });
  if (found != kKinds.end()) return found->kind;
  return absl::InvalidArgumentError(
      absl::StrCat("there is no loss \"", std::string(name),
                   "\"; use one of: ", absl::StrJoin(FlowLossNames(), ", ")));
}

std::vector<std::string_view> FlowLossTerms(const FlowLossOptions& options) {
  std::vector<std::string_view> terms;
  for (const NamedKind& kind : kKinds) {
    if (kind.kind == options.kind) terms = {kind.data_term, "smoothness"};
  }
  if (options.kind == Kind::kSsim) terms.emplace_back("photometric");
  if (options.occlusion) terms.emplace_back("occluded");
  return terms;
}

}  // namespace millrace::pipeline
