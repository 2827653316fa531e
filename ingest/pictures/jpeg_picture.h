// Decodes JPEG images with libjpeg-turbo.
//
// A GStreamer pipeline for each image would be slower and could hang, and jpegdec does not report
// that it fills in missing parts.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "ingest/frame/frame.h"
#include "ingest/frame/image_header.h"

namespace millrace::ingest {

/// Decodes a JPEG image at its own size, on the caller's thread. INVALID_ARGUMENT with the cause if
/// the decoder finds damage. REQUIRES: `header` is the result of ReadImageHeader() for `bytes`.
[[nodiscard]] absl::StatusOr<std::shared_ptr<Picture>> DecodeJpeg(
    std::span<const std::uint8_t> bytes, const ImageHeader& header);

}  // namespace millrace::ingest
