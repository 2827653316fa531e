#include "pipeline/learning/flow_network_names.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace millrace::pipeline {
namespace {

struct Kind {
  std::string_view name;
  FlowNetworkInput input;
};

// A network halves its pictures so often that their sides must be multiples.
constexpr std::array<Kind, 4> kKinds = {{{"flow", {.channels = 1, .size_multiple = 16}},
                                         {"ndconv", {.channels = 3, .size_multiple = 1}},
                                         {"resunet", {.channels = 3, .size_multiple = 32}},
                                         {"flownets", {.channels = 3, .size_multiple = 64}}}};

}  // namespace

const std::vector<std::string>& FlowNetworkNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Kind& kind : kKinds) all.emplace_back(kind.name);
    return all;
  }();
  return names;
}

absl::StatusOr<FlowNetworkInput> FlowNetworkInputOf(std::string_view name) {
  const auto* const found =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& k) { return k.name == name; });
  if (found != kKinds.end()) return found->input;
  return absl::InvalidArgumentError(
      absl::StrCat("there is no network \"", std::string(name),
                   "\"; use one of: ", absl::StrJoin(FlowNetworkNames(), ", ")));
}

}  // namespace millrace::pipeline
