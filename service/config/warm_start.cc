#include "service/config/warm_start.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "pipeline/learner/flow_network_names.h"

namespace millrace::service {
namespace {

namespace fs = std::filesystem;

// The program is CHECKOUT/build/PRESET/service/millrace. The tests' programs are one folder deeper.
constexpr int kMaxLevels = 5;

bool IsFile(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

}  // namespace

std::string CostOfColdStart(std::string_view network) {
  return pipeline::HasPrior(network) ? "until it learns, its flow is that of the method it corrects"
                                     : "it sees no motion for about its first thousand frames";
}

std::string WarmStartWeightsOf(const std::string& program, std::string_view network) {
  if (std::ranges::count(pipeline::FlowNetworkNames(), network) == 0) return "";
  const std::string name = std::string(network) + "-start.safetensors";
  const fs::path folder = fs::path(program).parent_path();
  const fs::path installed = folder.parent_path() / "share/millrace/weights" / name;
  if (IsFile(installed)) return installed.string();
  fs::path above = folder;
  for (int level = 0; level < kMaxLevels && above.has_relative_path(); ++level) {
    above = above.parent_path();
    const fs::path in_checkout = above / "samples/weights" / name;
    if (IsFile(in_checkout)) return in_checkout.string();
  }
  return "";
}

std::string WarmStartWeights(std::string_view network) {
  static const std::string kProgram = [] {
    std::error_code error;
    return fs::read_symlink("/proc/self/exe", error).string();
  }();
  return WarmStartWeightsOf(kProgram, network);
}

}  // namespace millrace::service
