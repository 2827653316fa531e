#include "service/config/warm_start.h"

#include <filesystem>
#include <system_error>

namespace millrace::service {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kName = "flow-start.safetensors";
// The program is CHECKOUT/build/PRESET/service/millrace. The tests' programs are one folder deeper.
constexpr int kMostLevels = 5;

bool IsFile(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

}  // namespace

std::string WarmStartWeightsOf(const std::string& program) {
  const fs::path folder = fs::path(program).parent_path();
  const fs::path installed = folder.parent_path() / "share/millrace/weights" / kName;
  if (IsFile(installed)) return installed.string();
  fs::path above = folder;
  for (int level = 0; level < kMostLevels && above.has_relative_path(); ++level) {
    above = above.parent_path();
    const fs::path in_checkout = above / "samples/weights" / kName;
    if (IsFile(in_checkout)) return in_checkout.string();
  }
  return "";
}

const std::string& WarmStartWeights() {
  static const std::string kWeights = [] {
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    return error ? std::string() : WarmStartWeightsOf(program.string());
  }();
  return kWeights;
}

}  // namespace millrace::service
