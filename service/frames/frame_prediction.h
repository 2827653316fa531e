// Pure functions for CameraStream: the network's input from a frame or a client's pictures, and the
// Prediction from the network's answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "ingest/frame/frame.h"
#include "pipeline/learner/learner.h"
#include "service/frames/frames_in_flight.h"
#include "service/frames/prediction.h"

namespace millrace::service {

using PicturePointer = std::shared_ptr<const ingest::Picture>;

/// Whether the frame has all pictures of a sample: one, two neighbours, or three.
[[nodiscard]] bool HasPictures(const ingest::Frame& frame, int per_sample);

/// Whether those pictures have the learner's size. REQUIRES: HasPictures().
[[nodiscard]] bool FitsLearner(const ingest::Frame& frame, int per_sample,
                               const pipeline::LearnerDescription& learner);

/// The result points into the frame. REQUIRES: HasPictures().
[[nodiscard]] pipeline::Sample PicturesOf(const ingest::Frame& frame, int per_sample);

/// The result points into `pictures`, oldest first: one, two or three.
[[nodiscard]] pipeline::Sample PicturesOf(std::span<const PicturePointer> pictures);

/// The fields of a prediction besides the model's answer and the frame.
struct PredictionContext {
  std::string stream;
  bool next_frame = false;
  /// The name of the model's best class.
  std::string best_class_name = {};
};

/// The state at a prediction's emission.
struct Emission {
  /// On the monotonic clock.
  std::chrono::nanoseconds now{0};
  /// The number of the next frame to arrive.
  std::int64_t next_number = 0;
};

/// The prediction of a frame that was in the learner.
[[nodiscard]] Prediction PredictionOf(FrameInFlight in_flight, pipeline::ModelPrediction model,
                                      PredictionContext context, const Emission& emission);

/// The prediction of a client's pictures, oldest first. It has no frame, number or times.
[[nodiscard]] Prediction PredictionOf(std::span<const PicturePointer> pictures,
                                      pipeline::ModelPrediction model, PredictionContext context);

}  // namespace millrace::service
