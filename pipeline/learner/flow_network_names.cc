#include "pipeline/learner/flow_network_names.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace millrace::pipeline {
namespace {

struct Kind {
  std::string_view name;
  FlowNetworkInput input;
};

// Each network halves its pictures several times, so their sides must be multiples of a power of
// two.
const std::vector<Kind>& Kinds() {
  static const std::vector<Kind> kinds = {
      {"refine", {.channels = 1, .size_multiple = 16, .has_prior = true}},
      {"flow", {.channels = 1, .size_multiple = 16}},
      {"levels", {.channels = 1, .size_multiple = 16, .level_begins = {3, 6}}},
      {"ndconv", {.channels = 3, .size_multiple = 1}},
      {"resunet", {.channels = 3, .size_multiple = 32}},
      {"flownets", {.channels = 3, .size_multiple = 64}}};
  return kinds;
}

}  // namespace

const std::vector<std::string>& FlowNetworkNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Kind& kind : Kinds()) all.emplace_back(kind.name);
    return all;
  }();
  return names;
}

bool HasPrior(std::string_view network) {
  const absl::StatusOr<FlowNetworkInput> input = FlowNetworkInputOf(network);
  return input.ok() && input->has_prior;
}

double UsualSmoothness(std::string_view network) { return HasPrior(network) ? 10 : 0.1; }

bool IsNetworkFile(std::string_view name) { return name.ends_with(".pt"); }

absl::StatusOr<FlowNetworkInput> FlowNetworkInputOf(std::string_view name) {
  if (IsNetworkFile(name)) return FlowNetworkInput{.channels = 3, .size_multiple = 1};
  const std::vector<Kind>& kinds = Kinds();
  const auto found =
      std::find_if(kinds.begin(), kinds.end(), [&](const Kind& k) { return k.name == name; });
  if (found != kinds.end()) return found->input;
  return absl::InvalidArgumentError(absl::StrCat(
      "there is no network \"", std::string(name), "\"; use one of: ",
      absl::StrJoin(FlowNetworkNames(), ", "), ", or a file that torch.jit.save() wrote, NAME.pt"));
}

}  // namespace millrace::pipeline
