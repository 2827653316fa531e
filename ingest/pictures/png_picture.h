// PNG images to pixels, by libpng itself.
//
// GStreamer's pngdec has libpng write what is wrong to standard error, where no log's format or
// limit holds.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "ingest/frame/frame.h"

namespace millrace::ingest {

/// Decodes a PNG image at its own size; what is transparent is shown as if it were not.
/// INVALID_ARGUMENT, saying what is wrong, if it is damaged. REQUIRES: ReadImageHeader() takes it.
[[nodiscard]] absl::StatusOr<std::shared_ptr<Picture>> DecodePng(
    std::span<const std::uint8_t> bytes);

}  // namespace millrace::ingest
