// What the network is shown of a frame, or of a client's pictures, and the prediction that its
// answer becomes: pure functions, for CameraStream.
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

/// Whether the frame comes with as many pictures as a sample has: one, the neighbours, or three.
[[nodiscard]] bool HasPictures(const ingest::Frame& frame, int per_sample);

/// Whether those are of the size that the learner was made for. REQUIRES: HasPictures().
[[nodiscard]] bool FitsLearner(const ingest::Frame& frame, int per_sample,
                               const pipeline::LearnerDescription& learner);

/// Points into the frame. REQUIRES: HasPictures().
[[nodiscard]] pipeline::PicturePair PicturesOf(const ingest::Frame& frame, int per_sample);

/// Points into `pictures`, oldest first: one, two or three.
[[nodiscard]] pipeline::PicturePair PicturesOf(std::span<const PicturePointer> pictures);

/// What a prediction says beside the model's answer and the frame.
struct PredictionContext {
  std::string stream;
  bool next_frame = false;
  /// Of the model's best class.
  std::string best_class_name = {};
};

/// When a prediction leaves, and what had come by then.
struct Emission {
  /// On the monotonic clock.
  std::chrono::nanoseconds now{0};
  /// Frames of this process.
  std::int64_t received = 0;
  /// What the source numbers from 0 goes on from here.
  pipeline::SourcePosition begin = {};
};

/// Of a frame that the learner had.
[[nodiscard]] Prediction PredictionOf(FrameInFlight in_flight, pipeline::ModelPrediction model,
                                      PredictionContext context, const Emission& emission);

/// Of a client's pictures, oldest first: of no frame, without a number or times.
[[nodiscard]] Prediction PredictionOf(std::span<const PicturePointer> pictures,
                                      pipeline::ModelPrediction model, PredictionContext context);

}  // namespace millrace::service
