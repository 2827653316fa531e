// A camera's pipeline, in this process or in one of its own.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "ingest/gst/gst_pipeline.h"

namespace millrace::ingest {

/// Runs in a process of its own where `options.task` says what that is to do and there is somebody
/// to start it (StartCameraProcesses()), else in this one. What goes wrong in that process is an
/// outcome. Fails as GstPicturePipeline::Create(), with FAILED_PRECONDITION where the password is
/// not where the task says, with INVALID_ARGUMENT where the task's texts are too long, or with
/// UNAVAILABLE or RESOURCE_EXHAUSTED where there is no process to be had.
[[nodiscard]] absl::StatusOr<std::unique_ptr<PicturePipeline>> NewPipeline(
    const PipelineOptions& options, PipelineListener& listener);

}  // namespace millrace::ingest
