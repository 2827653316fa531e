// JPEG images to pixels, by libjpeg-turbo itself.
//
// A pipeline of GStreamer's for each image would be slower, could hang, and jpegdec does not say
// that it fills in what is missing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "ingest/frame/frame.h"
#include "ingest/frame/image_header.h"

namespace millrace::ingest {

/// Decodes a JPEG image at its own size, on the caller's thread. INVALID_ARGUMENT, saying what is
/// wrong, if it is damaged, as far as the decoder notices. REQUIRES: `header` is
/// ReadImageHeader()'s of `bytes`.
[[nodiscard]] absl::StatusOr<std::shared_ptr<Picture>> DecodeJpeg(
    std::span<const std::uint8_t> bytes, const ImageHeader& header);

}  // namespace millrace::ingest
