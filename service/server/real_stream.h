// A camera stream's real parts: GStreamer's source and LibTorch's learner.
//
// Separate from camera_stream.h, so that the stream itself, its threads and its frame counts can be
// tested, and checked by ThreadSanitizer, without either library.
#pragma once

#include <memory>
#include <stop_token>
#include <utility>

#include "absl/status/statusor.h"
#include "ingest/inputs/open_source.h"
#include "ingest/source/source.h"
#include "pipeline/flow/flow_learner.h"
#include "pipeline/labels/label_learner.h"
#include "pipeline/learner/learner.h"
#include "pipeline/learner/learner_hooks.h"
#include "pipeline/preflight/memory_need.h"
#include "service/stream/camera_stream.h"

namespace millrace::service {

/// The learner of the stream's task.
[[nodiscard]] inline absl::StatusOr<std::unique_ptr<pipeline::Learner>> MakeLearner(
    const StreamConfig& config, pipeline::OnPrediction call, const pipeline::LearnerHooks& hooks) {
  return IsOfLabels(config.task)
             ? pipeline::MakeLabelLearner(config.learner, config.labels, std::move(call), hooks)
             : pipeline::MakeFlowLearner(config.learner, config.flow, std::move(call), hooks);
}

/// Options of a stream with a real source and the real pipeline.
[[nodiscard]] inline CameraStream::Options RealStream(StreamConfig config) {
  CameraStream::Options options;
  options.config = std::move(config);
  options.make_learner = MakeLearner;
  options.open_source = [](const ingest::SourceOptions& source) {
    return ingest::OpenSource(source);
  };
  return options;
}

/// The learner's expected memory in bytes (pipeline/preflight/memory_need.h).
[[nodiscard]] inline absl::StatusOr<double> MemoryNeedOf(const StreamConfig& config,
                                                         const std::stop_token& stop = {}) {
  return IsOfLabels(config.task) ? pipeline::MemoryNeedOf(config.learner, config.labels, stop)
                                 : pipeline::MemoryNeedOf(config.learner, config.flow, stop);
}

}  // namespace millrace::service
