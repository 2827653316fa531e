#include "pipeline/comparison/flow_files.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/regular_file.h"
#include "base/status.h"

namespace millrace::pipeline {
namespace {

constexpr float kFloMagic = 202021.25F;
constexpr float kUnknown = 1e6F;
constexpr std::int32_t kMaxSide = 32768;
// The size of a .flo file of 8K pictures.
constexpr std::uint64_t kMaxFileBytes = 512 << 20;

absl::Status Wrong(const std::string& path, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", std::string(what)));
}

// Reads a number of a file. Both this machine and the files are little-endian.
template <typename Number>
Number NumberAt(std::string_view bytes, std::size_t at) {
  Number number;
  std::memcpy(&number, bytes.data() + at, sizeof(number));
  return number;
}

absl::StatusOr<TrueFlow> ReadFlo(const std::string& path) {
  MILLRACE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxFileBytes));
  const std::string_view bytes = text;
  constexpr std::size_t kHead = 12;
  if (bytes.size() < kHead || NumberAt<float>(bytes, 0) != kFloMagic) {
    return Wrong(path, "it does not begin as a .flo file does, with the number 202021.25");
  }
  TrueFlow truth{.width = NumberAt<std::int32_t>(bytes, 4),
                 .height = NumberAt<std::int32_t>(bytes, 8)};
  if (truth.width < 1 || truth.height < 1 || truth.width > kMaxSide || truth.height > kMaxSide) {
    return Wrong(path, absl::StrCat("its size, ", truth.width, "x", truth.height,
                                    ", is not that of a picture"));
  }
  const std::size_t pixels = static_cast<std::size_t>(truth.width) * truth.height;
  const std::size_t size = kHead + pixels * 2 * sizeof(float);
  if (bytes.size() != size) {
    return Wrong(path, absl::StrCat("it has ", bytes.size(), " bytes; ", truth.width, "x",
                                    truth.height, " make ", size, ": it is cut short or damaged"));
  }
  truth.flow.resize(2 * pixels);
  std::memcpy(truth.flow.data(), bytes.data() + kHead, size - kHead);
  truth.known.assign(pixels, 1);
  for (std::size_t i = 0; i < pixels; ++i) {
    // Also false for a NaN.
    const bool known =
        std::abs(truth.flow[2 * i]) < kUnknown && std::abs(truth.flow[2 * i + 1]) < kUnknown;
    truth.known[i] = known ? 1 : 0;
  }
  return truth;
}

absl::StatusOr<TrueFlow> ReadKitti(const std::string& path) {
  MILLRACE_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, kMaxFileBytes));
  const std::vector<std::uint8_t> coded(bytes.begin(), bytes.end());
  cv::Mat picture;
  try {
    if (!coded.empty()) picture = cv::imdecode(coded, cv::IMREAD_UNCHANGED);
  } catch (const cv::Exception&) {  // Such as a picture of an impossible size.
  }
  if (picture.empty()) return Wrong(path, "it cannot be read as a picture");
  if (picture.type() != CV_16UC3) {
    return Wrong(path, "a flow picture has three colours of 16 bits each; this one has not");
  }
  const std::size_t pixels = picture.total();
  TrueFlow truth{.width = picture.cols, .height = picture.rows};
  truth.flow.reserve(2 * pixels);
  truth.known.reserve(pixels);
  for (int y = 0; y < picture.rows; ++y) {
    for (int x = 0; x < picture.cols; ++x) {
      const auto& blue_green_red = picture.at<cv::Vec3w>(y, x);
      truth.flow.push_back((static_cast<float>(blue_green_red[2]) - 32768) / 64);
      truth.flow.push_back((static_cast<float>(blue_green_red[1]) - 32768) / 64);
      truth.known.push_back(blue_green_red[0] != 0 ? 1 : 0);
    }
  }
  return truth;
}

}  // namespace

absl::StatusOr<TrueFlow> ReadTrueFlow(const std::string& path) {
  const std::string ending =
      absl::AsciiStrToLower(std::filesystem::path(path).extension().string());
  if (ending == ".flo") return ReadFlo(path);
  if (ending == ".png") return ReadKitti(path);
  return Wrong(path, "true motion is read from .flo files and from KITTI's .png");
}

}  // namespace millrace::pipeline
