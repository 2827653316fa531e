#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "pipeline/data/formats.h"
#include "pipeline/data/whole_file.h"

namespace millrace::pipeline {
namespace {

constexpr int kClasses = 10;
constexpr int kSide = 32;
constexpr std::size_t kRecord = 1 + std::size_t{3} * kSide * kSide;

absl::Status AddFile(const std::string& path, LabelledSamples& samples) {
  MILLRACE_ASSIGN_OR_RETURN(const std::string content, ReadWholeFile(path));
  if (content.empty() || content.size() % kRecord != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " holds ", content.size(), " bytes, no whole number of samples of ",
                     kRecord, ": it is cut short, or no file of CIFAR-10's binary version"));
  }
  for (std::size_t at = 0; at < content.size(); at += kRecord) {
    const int label = static_cast<unsigned char>(content[at]);
    if (label >= kClasses) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ", sample ", at / kRecord, ": its label is ", label, "; only 0 to 9 is allowed"));
    }
    samples.labels.push_back(label);
    samples.bytes.insert(samples.bytes.end(), content.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                         content.begin() + static_cast<std::ptrdiff_t>(at + kRecord));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LabelledSamples> ReadCifar10(const std::vector<std::string>& paths) {
  LabelledSamples samples{.shape = {3, kSide, kSide}, .unit = 1.0F / 255, .classes = kClasses};
  for (const std::string& path : paths) MILLRACE_RETURN_IF_ERROR(AddFile(path, samples));
  return samples;
}

}  // namespace millrace::pipeline
