// A prediction as clients receive it: the model's answer for one frame, and its times.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ingest/frame/frame.h"
#include "pipeline/learner/learner.h"

namespace millrace::service {

/// Losses of the model's flow and of a reference method that does not learn, on the same pictures:
/// photometric losses on grey.
struct Comparison {
  double loss = 0;
  double loss_no_motion = 0;
  double loss_reference = 0;
};

/// Immutable once published; shared between the ring and its readers.
struct Prediction {
  std::string stream;
  std::int64_t epoch = 0;
  std::int64_t frame_number = 0;

  /// The frame's time by the stream's own clock, which restarts in every epoch.
  std::chrono::nanoseconds stream_time{0};
  /// Since 1970-01-01 UTC. Absent if the camera does not send its time.
  std::optional<std::chrono::nanoseconds> camera_time;
  std::chrono::nanoseconds arrival_time{0};
  std::chrono::nanoseconds emission_time{0};
  /// From the frame's arrival to the prediction's emission, on the monotonic clock.
  std::chrono::nanoseconds delay{0};
  /// The delay in frames: the number of frames that arrived in between.
  std::int64_t delay_frames = 0;

  pipeline::ModelPrediction model;
  /// The flow is expected to continue: it predicts the picture after `picture`.
  bool next_frame = false;
  /// The name of model.best_class. Empty if classes have no names or no class is predicted.
  std::string best_class_name = {};
  /// nullopt unless the stream has a comparison.
  std::optional<Comparison> comparison;
  /// The flow of that method, as ModelPrediction::flow. Null without a comparison.
  std::shared_ptr<const std::vector<float>> reference_flow = nullptr;
  /// The flow shows motion that the pictures do not show (motion_evidence.h).
  bool spurious_motion = false;
  /// The two newest pictures of the model's input. A task of labels uses only the second one. The
  /// first one is null at the start of an epoch.
  std::shared_ptr<const ingest::Picture> previous;
  std::shared_ptr<const ingest::Picture> picture;
  int camera_width = 0;
  int camera_height = 0;
  /// It is the first prediction after a gap in the stream, or after a change of the camera's size.
  bool after_gap = false;
  bool new_size = false;
};

}  // namespace millrace::service
