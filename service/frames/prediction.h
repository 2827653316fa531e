// A prediction as clients get it: what the model said of one frame, and when everything happened.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "ingest/frame/frame.h"
#include "pipeline/learner/learner.h"

namespace millrace::service {

/// What the model's flow and that of a method that does not learn are worth on the same pictures,
/// judged alike: photometric losses on grey.
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

  /// The frame's, by the stream's own clock, which begins anew with every epoch.
  std::chrono::nanoseconds stream_time{0};
  /// Since 1970-01-01 UTC. The camera's own clock is absent when the camera does not tell.
  std::optional<std::chrono::nanoseconds> camera_time;
  std::chrono::nanoseconds arrival_time{0};
  std::chrono::nanoseconds emission_time{0};
  /// From the frame's arrival to the prediction's emission, on the monotonic clock.
  std::chrono::nanoseconds delay{0};
  /// The same in frames: how many frames had arrived since.
  std::int64_t delay_frames = 0;

  pipeline::ModelPrediction model;
  /// The flow is what is expected to go on: it foretells the picture after `picture`.
  bool next_frame = false;
  /// Of model.best_class. Empty where classes have no names or none is predicted.
  std::string best_class_name = {};
  /// Nothing unless the stream is compared with something.
  std::optional<Comparison> comparison;
  /// The flow shows motion that the pictures do not (motion_evidence.h).
  bool spurious_motion = false;
  /// The two newest pictures that the model saw. A task of labels is about the second alone; the
  /// first is null at the start of an epoch.
  std::shared_ptr<const ingest::Picture> previous;
  std::shared_ptr<const ingest::Picture> picture;
  int camera_width = 0;
  int camera_height = 0;
  /// It is the first one since a gap in the stream, or since the camera's size changed.
  bool after_gap = false;
  bool new_size = false;
};

}  // namespace millrace::service
