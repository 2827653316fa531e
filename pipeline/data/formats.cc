#include "pipeline/data/formats.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace millrace::pipeline {
namespace {

constexpr char kImages[] = "-images-idx3-ubyte";
constexpr char kLabels[] = "-labels-idx1-ubyte";

bool IsCifar10(const std::string& path) { return absl::EndsWith(path, ".bin"); }

}  // namespace

absl::StatusOr<LabelledSamples> ReadDataSet(const std::vector<std::string>& paths) {
  if (!paths.empty() && std::all_of(paths.begin(), paths.end(), IsCifar10)) {
    return ReadCifar10(paths);
  }
  if (paths.size() == 1) {
    const std::string& path = paths.front();
    if (absl::EndsWith(path, ".csv") || absl::EndsWith(path, ".csv.gz")) return ReadDigits(path);
    if (absl::EndsWith(path, kImages) || absl::EndsWith(path, absl::StrCat(kImages, ".gz"))) {
      return ReadMnist(path, absl::StrReplaceAll(path, {{kImages, kLabels}}));
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", absl::StrJoin(paths, ","),
      "\" is no known data set. Use one digits.csv.gz of scikit-learn, one "
      "NAME-images-idx3-ubyte (or .gz) of MNIST with NAME-labels-idx1-ubyte beside it, or "
      "data_batch_N.bin of CIFAR-10"));
}

}  // namespace millrace::pipeline
