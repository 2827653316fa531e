// Pictures as JPEG, for browsers.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"

namespace millrace::service {

/// Encodes red, green, blue bytes, rows first without padding. `quality` is 1 to 100. Fails with
/// INVALID_ARGUMENT where `rgb` is not width * height * 3 bytes.
[[nodiscard]] absl::StatusOr<std::string> EncodeJpeg(std::span<const std::uint8_t> rgb, int width,
                                                     int height, int quality);

}  // namespace millrace::service
