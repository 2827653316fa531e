#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"
#include "pipeline/data/formats.h"
#include "pipeline/data/whole_file.h"

namespace millrace::pipeline {
namespace {

constexpr int kClasses = 10;
constexpr std::uint32_t kMaxPixels = 1U << 24;

// An idx file of bytes: a magic number that ends with the number of dimensions, the dimensions, the
// bytes. All numbers are big-endian.
struct Idx {
  std::vector<std::uint32_t> dimensions;
  std::string bytes;
};

std::uint32_t BigEndian(const std::string& content, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = at; i < at + 4; ++i) {
    number = number << 8 | static_cast<unsigned char>(content[i]);
  }
  return number;
}

absl::StatusOr<Idx> ReadIdx(const std::string& path, int dimensions, const std::string& what) {
  MILLRACE_ASSIGN_OR_RETURN(std::string content, ReadWholeFile(path));
  const std::uint32_t magic = 0x0800U + static_cast<std::uint32_t>(dimensions);
  const std::size_t header = 4 + 4 * static_cast<std::size_t>(dimensions);
  if (content.size() >= 4 && BigEndian(content, 0) != magic) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s is no idx file of %s: it begins with %08x where %08x is needed", path,
                        what, BigEndian(content, 0), magic));
  }
  if (content.size() < header) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is cut short within its head"));
  }
  Idx idx;
  std::uint64_t expected = 1;
  for (int i = 0; i < dimensions; ++i) {
    const std::uint32_t size = BigEndian(content, 4 + 4 * static_cast<std::size_t>(i));
    if (i > 0 && size > kMaxPixels) {
      return absl::InvalidArgumentError(absl::StrCat(path, " says that a side is ", size));
    }
    idx.dimensions.push_back(size);
    expected *= std::max<std::uint64_t>(size, 1);
    if (size == 0) return absl::InvalidArgumentError(absl::StrCat(path, " says that it is empty"));
    if (expected > content.size()) break;  // So the next product cannot overflow.
  }
  if (expected != content.size() - header) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " holds ", content.size() - header, " bytes of ", what,
                     ", not as many as it says: it is cut short or damaged"));
  }
  idx.bytes = content.substr(header);
  return idx;
}

}  // namespace

absl::StatusOr<LabelledSamples> ReadMnist(const std::string& images, const std::string& labels) {
  MILLRACE_ASSIGN_OR_RETURN(const Idx pictures, ReadIdx(images, 3, "images"));
  MILLRACE_ASSIGN_OR_RETURN(const Idx classes, ReadIdx(labels, 1, "labels"));
  if (pictures.dimensions[0] != classes.dimensions[0]) {
    return absl::InvalidArgumentError(
        absl::StrCat(images, " has ", pictures.dimensions[0], " images and ", labels, " ",
                     classes.dimensions[0], " labels; they must be as many"));
  }
  LabelledSamples samples{.shape = {1, pictures.dimensions[1], pictures.dimensions[2]},
                          .unit = 1.0F / 255,
                          .classes = kClasses,
                          .bytes = {pictures.bytes.begin(), pictures.bytes.end()}};
  for (const char byte : classes.bytes) {
    const int label = static_cast<unsigned char>(byte);
    if (label >= kClasses) {
      return absl::InvalidArgumentError(absl::StrCat(labels, " has a label ", label, " (of image ",
                                                     samples.count(), "); only 0 to 9 is allowed"));
    }
    samples.labels.push_back(label);
  }
  return samples;
}

}  // namespace millrace::pipeline
