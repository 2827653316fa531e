// The pipelines of sources that decode with GStreamer, for the sources and for Look().
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "ingest/gst/gst_pipeline.h"
#include "ingest/inputs/open_source.h"

namespace millrace::ingest {

/// INVALID_ARGUMENT if the URI is not a camera's.
[[nodiscard]] absl::StatusOr<PipelineOptions> RtspPipeline(const SourceRequest& request);

/// INVALID_ARGUMENT if the URI names no device. A missing device fails when the pipeline is built.
[[nodiscard]] absl::StatusOr<PipelineOptions> V4l2Pipeline(const SourceRequest& request);

/// INVALID_ARGUMENT, with the known patterns, if the URI names an unknown test pattern.
[[nodiscard]] absl::StatusOr<PipelineOptions> TestPicturePipeline(const SourceRequest& request);

/// The pipeline of the video at `path`.
[[nodiscard]] PipelineOptions FilePipeline(const std::string& path, const SourceOptions& options);

}  // namespace millrace::ingest
