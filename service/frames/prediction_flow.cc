#include "service/frames/prediction_flow.h"

namespace millrace::service {

std::optional<pipeline::FlowOverPictures> FlowOverPicturesOf(const pipeline::ModelPrediction& model,
                                                             const ingest::Picture* previous,
                                                             const ingest::Picture& newest,
                                                             bool next_frame) {
  if (model.flow == nullptr || previous == nullptr) return std::nullopt;
  // A next-frame flow lies on the newest picture. Its reverse leads to the picture before.
  const ingest::Picture& base = next_frame ? newest : *previous;
  const ingest::Picture& target = next_frame ? *previous : newest;
  return pipeline::FlowOverPictures{.flow = *model.flow,
                                    .base = base.rgb,
                                    .target = target.rgb,
                                    .width = model.width,
                                    .height = model.height,
                                    .backward = next_frame};
}

std::optional<pipeline::FlowOverPictures> FlowOverPicturesOf(const Prediction& prediction) {
  if (prediction.picture == nullptr) return std::nullopt;
  return FlowOverPicturesOf(prediction.model, prediction.previous.get(), *prediction.picture,
                            prediction.next_frame);
}

}  // namespace millrace::service
