// Pictures as JPEG, for browsers.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"

namespace millrace::service {

struct JpegOptions {
  /// 1 to 100.
  int quality = 80;
  /// Keep colours as fine as brightness: for drawings, whose edges are of colour.
  bool fine_colors = false;
};

/// Encodes red, green, blue bytes, rows first without padding. Fails with INVALID_ARGUMENT where
/// `rgb` is not width * height * 3 bytes.
[[nodiscard]] absl::StatusOr<std::string> EncodeJpeg(std::span<const std::uint8_t> rgb, int width,
                                                     int height, const JpegOptions& options);

}  // namespace millrace::service
