#include "service/frames/frame_prediction.h"

#include <utility>

#include "base/clock.h"
#include "service/frames/motion_evidence.h"
#include "service/frames/prediction_flow.h"

namespace millrace::service {
namespace {

/// Whether the model sees motion that its two newest pictures do not show.
bool SeesSpuriousMotion(const pipeline::ModelPrediction& model, const ingest::Frame& frame,
                        bool next_frame) {
  const auto flow = FlowOverPicturesOf(model, frame.previous.get(), *frame.picture, next_frame);
  return flow.has_value() && EvidenceOf(*flow).IsSpurious();
}

}  // namespace

bool HasPictures(const ingest::Frame& frame, int per_sample) {
  return (per_sample < 2 || frame.previous != nullptr) &&
         (per_sample < 3 || frame.before != nullptr);
}

bool FitsLearner(const ingest::Frame& frame, int per_sample,
                 const pipeline::LearnerDescription& learner) {
  const auto fits = [&learner](const ingest::Picture& picture) {
    return picture.width == learner.width && picture.height == learner.height;
  };
  return fits(*frame.picture) && (frame.previous == nullptr || fits(*frame.previous)) &&
         (per_sample < 3 || fits(*frame.before));
}

pipeline::Sample PicturesOf(const ingest::Frame& frame, int per_sample) {
  pipeline::Sample pictures{.previous = {}, .current = frame.picture->rgb};
  if (frame.previous != nullptr) pictures.previous = frame.previous->rgb;
  if (per_sample == 3) pictures.before = frame.before->rgb;
  return pictures;
}

pipeline::Sample PicturesOf(std::span<const PicturePointer> pictures) {
  const std::size_t count = pictures.size();
  pipeline::Sample sample{.previous = {}, .current = pictures[count - 1]->rgb};
  if (count > 1) sample.previous = pictures[count - 2]->rgb;
  if (count > 2) sample.before = pictures[0]->rgb;
  return sample;
}

Prediction PredictionOf(FrameInFlight in_flight, pipeline::ModelPrediction model,
                        PredictionContext context, const Emission& emission) {
  ingest::Frame& frame = in_flight.frame;
  const std::chrono::nanoseconds delay = emission.now - frame.arrival;
  const std::chrono::nanoseconds wall = WallTime();
  const bool spurious = SeesSpuriousMotion(model, frame, context.next_frame);
  return {.stream = std::move(context.stream),
          .epoch = frame.epoch,
          .frame_number = frame.number,
          .stream_time = frame.stream_time,
          .camera_time = frame.camera_time,
          .arrival_time = wall - delay,
          .emission_time = wall,
          .delay = delay,
          .delay_frames = emission.next_number - 1 - frame.number,
          .model = std::move(model),
          .next_frame = context.next_frame,
          .best_class_name = std::move(context.best_class_name),
          .comparison = std::nullopt,
          .spurious_motion = spurious,
          .previous = std::move(frame.previous),
          .picture = std::move(frame.picture),
          .camera_width = in_flight.camera_width,
          .camera_height = in_flight.camera_height,
          .after_gap = in_flight.after_gap,
          .new_size = in_flight.new_size};
}

Prediction PredictionOf(std::span<const PicturePointer> pictures, pipeline::ModelPrediction model,
                        PredictionContext context) {
  const std::size_t count = pictures.size();
  Prediction prediction;
  prediction.stream = std::move(context.stream);
  prediction.model = std::move(model);
  prediction.next_frame = context.next_frame;
  prediction.best_class_name = std::move(context.best_class_name);
  if (count > 1) prediction.previous = pictures[count - 2];
  prediction.picture = pictures[count - 1];
  return prediction;
}

}  // namespace millrace::service
