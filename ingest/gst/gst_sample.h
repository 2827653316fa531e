// Copies a GStreamer sample into a Picture with its times.
#pragma once

#include <gst/gst.h>

#include <optional>

#include "ingest/frame/frame_feed.h"
#include "ingest/frame/grid.h"

namespace millrace::ingest {

/// Copies the middle of the RGB picture in `sample`, of `grid` size, row by row because GStreamer
/// pads rows to multiples of four bytes. Returns nullopt if the sample cannot be mapped into memory
/// or is smaller than `grid`.
[[nodiscard]] std::optional<DecodedPicture> PictureFromSample(GstSample& sample,
                                                              const Extent& grid);

}  // namespace millrace::ingest
