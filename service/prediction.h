// A prediction as clients get it: what the model said of one frame, and when everything happened.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "ingest/frame.h"
#include "pipeline/learner.h"

namespace millrace::service {

/// Immutable once published; shared between the ring and its readers.
struct Prediction {
  std::string stream;
  std::int64_t epoch = 0;
  std::int64_t frame_number = 0;

  /// Since 1970-01-01 UTC. The camera's own clock is absent when the camera does not tell.
  std::optional<std::chrono::nanoseconds> camera_time;
  std::chrono::nanoseconds arrival_time{0};
  std::chrono::nanoseconds emission_time{0};
  /// From the frame's arrival to the prediction's emission, on the monotonic clock.
  std::chrono::nanoseconds delay{0};
  /// The same in frames: how many frames had arrived since.
  std::int64_t delay_frames = 0;

  pipeline::FlowPrediction flow;
  /// The pictures that the flow joins.
  std::shared_ptr<const ingest::Picture> previous;
  std::shared_ptr<const ingest::Picture> picture;
  int camera_width = 0;
  int camera_height = 0;
};

}  // namespace millrace::service
