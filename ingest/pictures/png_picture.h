// Decodes PNG images with libpng.
//
// With GStreamer's pngdec, libpng writes errors to standard error, outside the log's format and
// limits.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "ingest/frame/frame.h"

namespace millrace::ingest {

/// Decodes a PNG image at its own size; transparent pixels are shown as opaque. INVALID_ARGUMENT
/// with the cause if it is damaged. REQUIRES: ReadImageHeader() accepts it.
[[nodiscard]] absl::StatusOr<std::shared_ptr<Picture>> DecodePng(
    std::span<const std::uint8_t> bytes);

}  // namespace millrace::ingest
