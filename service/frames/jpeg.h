// Encodes pictures as JPEG for browsers.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"

namespace millrace::service {

struct JpegOptions {
  /// 1 to 100.
  int quality = 80;
  /// Full resolution for colours: for drawings, whose edges are differences in colour.
  bool fine_colors = false;
};

/// Encodes red, green, blue bytes, rows first without padding. INVALID_ARGUMENT unless `rgb` has
/// width * height * 3 bytes.
[[nodiscard]] absl::StatusOr<std::string> EncodeJpeg(std::span<const std::uint8_t> rgb, int width,
                                                     int height, const JpegOptions& options);

}  // namespace millrace::service
