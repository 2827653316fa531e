// The pipelines of the sources that decode with GStreamer: for those who play them, and for Look().
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "ingest/gst/gst_pipeline.h"
#include "ingest/inputs/open_source.h"

namespace millrace::ingest {

/// INVALID_ARGUMENT if its URI is none of a camera.
[[nodiscard]] absl::StatusOr<PipelineOptions> RtspPipeline(const SourceRequest& request);

/// INVALID_ARGUMENT if its URI names no device. A device that is not there fails when the pipeline
/// is made.
[[nodiscard]] absl::StatusOr<PipelineOptions> V4l2Pipeline(const SourceRequest& request);

/// Of the video at `path`.
[[nodiscard]] PipelineOptions FilePipeline(const std::string& path, const SourceOptions& options);

}  // namespace millrace::ingest
