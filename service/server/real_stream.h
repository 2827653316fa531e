// A camera stream's real parts: GStreamer's source and LibTorch's learner.
//
// Separate from camera_stream.h, so that the stream itself, its threads and its frame counts can be
// tested, and checked by ThreadSanitizer, without either library.
#pragma once

#include <utility>

#include "ingest/inputs/open_source.h"
#include "ingest/source/source.h"
#include "pipeline/flow/flow_learner.h"
#include "pipeline/labels/label_stream_learner.h"
#include "pipeline/learner/label_learner_options.h"
#include "pipeline/learner/learner.h"
#include "pipeline/preflight/memory_need.h"
#include "service/stream/camera_stream.h"

namespace millrace::service {

/// Options of a stream with a real source and the real pipeline.
[[nodiscard]] inline CameraStream::Options RealStream(StreamConfig config) {
  CameraStream::Options options;
  options.make_learner = pipeline::MakeFlowLearner;
  if (IsOfLabels(config.task)) {
    options.make_learner = [labels = config.labels](const pipeline::FlowLearnerOptions& shared,
                                                    pipeline::OnPrediction call) mutable {
      labels.stop = shared.stop;
      labels.learner.safety->checkpoints.on_write = shared.checkpoints.on_write;
      labels.learner.safety->checkpoints.position = shared.checkpoints.position;
      return pipeline::MakeLabelStreamLearner(labels, std::move(call));
    };
  }
  options.config = std::move(config);
  options.open_source = [](const ingest::SourceOptions& source) {
    return ingest::OpenSource(source);
  };
  return options;
}

/// The learner's expected memory in bytes (pipeline/preflight/memory_need.h).
[[nodiscard]] inline absl::StatusOr<double> MemoryNeedOf(const StreamConfig& config) {
  if (!IsOfLabels(config.task)) return pipeline::MemoryNeedOf(config.learner);
  pipeline::LabelStreamOptions labels = config.labels;
  labels.stop = config.learner.stop;
  return pipeline::MemoryNeedOf(labels);
}

}  // namespace millrace::service
