// Copies a GStreamer sample into a picture of ours, with the times that it carries.
#pragma once

#include <gst/gst.h>

#include <optional>

#include "ingest/frame_feed.h"

namespace millrace::ingest {

/// Copies the RGB picture that `sample` holds, row by row, since GStreamer pads rows to multiples
/// of four bytes. Returns nullopt if it cannot be mapped into memory.
[[nodiscard]] std::optional<DecodedPicture> PictureFromSample(GstSample& sample);

}  // namespace millrace::ingest
