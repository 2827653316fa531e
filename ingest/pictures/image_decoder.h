// Decodes JPEG images with libjpeg-turbo, and PNG images with libpng.
//
// A GStreamer pipeline for each image would be slower and could hang. GStreamer's jpegdec does not
// report that it fills in missing parts, and with its pngdec libpng writes errors to standard
// error.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "ingest/frame/frame.h"

namespace millrace::ingest {

struct DecodedImage {
  std::string_view format;  ///< "JPEG" or "PNG".
  std::shared_ptr<Picture> picture;
};

/// Decodes an image from an untrusted source at its own size, on the caller's thread. Transparent
/// pixels are shown as opaque. Bytes behind the image's end are ignored. INVALID_ARGUMENT with the
/// cause if the image has another format, is damaged, or exceeds the maximum picture. The size is
/// checked before memory is allocated for it.
[[nodiscard]] absl::StatusOr<DecodedImage> DecodeImage(std::span<const std::uint8_t> bytes);

}  // namespace millrace::ingest
