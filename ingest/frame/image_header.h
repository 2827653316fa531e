// The size and the end of a JPEG or PNG image from an untrusted source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"

namespace millrace::ingest {

enum class ImageFormat { kJpeg, kPng };

struct ImageHeader {
  ImageFormat format = ImageFormat::kJpeg;
  int width = 0;
  int height = 0;
  /// The length of the image. A decoder would read any bytes behind it as another image of any
  /// size.
  std::size_t bytes = 0;
};

/// Reads the headers of the parts of a JPEG or PNG image, but does not decode the content.
/// INVALID_ARGUMENT with the cause if the data is neither format, is cut short, or is larger than
/// the maximum picture.
[[nodiscard]] absl::StatusOr<ImageHeader> ReadImageHeader(std::span<const std::uint8_t> bytes);

}  // namespace millrace::ingest
