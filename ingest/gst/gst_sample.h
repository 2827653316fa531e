// Copies a GStreamer sample into a picture of ours, with the times that it carries.
#pragma once

#include <gst/gst.h>

#include <optional>

#include "ingest/frame/frame_feed.h"
#include "ingest/frame/grid.h"

namespace millrace::ingest {

/// Copies the middle of the RGB picture that `sample` holds, `grid` pixels large, row by row, since
/// GStreamer pads rows to multiples of four bytes. Returns nullopt if it cannot be mapped into
/// memory, or is smaller than that.
[[nodiscard]] std::optional<DecodedPicture> PictureFromSample(GstSample& sample,
                                                              const Extent& grid);

}  // namespace millrace::ingest
