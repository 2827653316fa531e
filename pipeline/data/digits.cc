#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/status.h"
#include "pipeline/data/formats.h"
#include "pipeline/data/whole_file.h"

namespace millrace::pipeline {
namespace {

constexpr int kSide = 8;
constexpr int kNumbers = kSide * kSide;
constexpr int kMaxBrightness = 16;
constexpr int kClasses = 10;

absl::Status AddLine(absl::string_view line, LabelledSamples& samples) {
  const std::vector<absl::string_view> cells = absl::StrSplit(line, ',');
  if (cells.size() != kNumbers + 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("it has ", cells.size(), " numbers where 64 and the digit are needed"));
  }
  for (int i = 0; i <= kNumbers; ++i) {
    const bool is_label = i == kNumbers;
    const int max = is_label ? kClasses - 1 : kMaxBrightness;
    int number = 0;
    if (!absl::SimpleAtoi(cells[i], &number) || number < 0 || number > max) {
      return absl::InvalidArgumentError(absl::StrCat(is_label ? "its digit is \"" : "it has \"",
                                                     cells[i], "\"; only 0 to ", max,
                                                     " is allowed"));
    }
    if (is_label) {
      samples.labels.push_back(number);
    } else {
      samples.bytes.push_back(static_cast<std::uint8_t>(number));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LabelledSamples> ReadDigits(const std::string& path) {
  MILLRACE_ASSIGN_OR_RETURN(const std::string content, ReadWholeFile(path));
  LabelledSamples samples{
      .shape = {1, kSide, kSide}, .unit = 1.0F / kMaxBrightness, .classes = kClasses};
  int number = 0;
  for (absl::string_view line : absl::StrSplit(content, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) continue;
    if (const absl::Status added = AddLine(line, samples); !added.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ", line ", number, ": ", std::string(added.message())));
    }
  }
  if (samples.count() == 0) return absl::InvalidArgumentError(absl::StrCat(path, " is empty"));
  return samples;
}

}  // namespace millrace::pipeline
