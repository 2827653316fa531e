// Creates a camera's pipeline in this process or in a separate one.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "ingest/gst/gst_pipeline.h"

namespace millrace::ingest {

/// Uses a separate process if `options.task` is set and StartCameraProcesses() was called, else
/// this process. A failure of that process is an outcome. Fails as GstPicturePipeline::Create().
/// Also fails with FAILED_PRECONDITION without a readable password, INVALID_ARGUMENT if the task's
/// texts are too long, and UNAVAILABLE or RESOURCE_EXHAUSTED if no process can start.
[[nodiscard]] absl::StatusOr<std::unique_ptr<PicturePipeline>> NewPipeline(
    const PipelineOptions& options, PipelineListener& listener);

}  // namespace millrace::ingest
