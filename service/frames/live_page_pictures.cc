#include "service/frames/live_page_pictures.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "pipeline/learner/flow_uncertainty.h"
#include "pipeline/learner/picture_to_come.h"
#include "service/frames/jpeg.h"
#include "service/frames/prediction_flow.h"

namespace millrace::service {
namespace {

// Half a second of a fast camera with many viewers. A request over a slow link may take that long.
constexpr std::size_t kRemembered = 16;
// Older predictions are not requested any more. One of a large model has tens of megabytes.
constexpr std::chrono::seconds kRememberedFor(1);
constexpr JpegOptions kCameraJpeg = {.quality = 80, .fine_colors = false};
// Flat colours with sharp edges show artefacts sooner.
constexpr JpegOptions kFlowJpeg = {.quality = 90, .fine_colors = true};

// In the size of the picture that the model sees.
absl::StatusOr<EncodedPicture> EncodeCamera(const Prediction& prediction,
                                            std::span<const std::uint8_t> rgb) {
  MILLRACE_ASSIGN_OR_RETURN(std::string jpeg, EncodeJpeg(rgb, prediction.picture->width,
                                                         prediction.picture->height, kCameraJpeg));
  return EncodedPicture{.frame_number = prediction.frame_number, .jpeg = std::move(jpeg)};
}

absl::Status NoMotion() { return absl::NotFoundError("This stream predicts no motion."); }

absl::StatusOr<EncodedPicture> EncodeFlow(const Prediction& prediction, std::span<const float> flow,
                                          float scale) {
  MILLRACE_ASSIGN_OR_RETURN(std::string jpeg,
                            EncodeJpeg(FlowColors(flow, scale), prediction.model.width,
                                       prediction.model.height, kFlowJpeg));
  return EncodedPicture{
      .frame_number = prediction.frame_number, .jpeg = std::move(jpeg), .scale = scale};
}

absl::StatusOr<EncodedPicture> EncodeNext(const Prediction& prediction) {
  if (!prediction.next_frame) {
    return absl::NotFoundError("This stream does not predict the next frame.");
  }
  const pipeline::ModelPrediction& model = prediction.model;
  return EncodeCamera(prediction, pipeline::PictureToCome(prediction.picture->rgb, *model.flow,
                                                          model.width, model.height));
}

absl::StatusOr<EncodedPicture> EncodeUncertainty(const Prediction& prediction) {
  if (prediction.model.flow == nullptr) return NoMotion();
  const auto flow = FlowOverPicturesOf(prediction);
  if (!flow) return absl::NotFoundError("This prediction has no picture before it. Ask again.");
  std::vector<std::uint8_t> grey;
  for (const float pixels : pipeline::FlowUncertainty(*flow)) {
    const float share = std::min(pixels / kWhiteUncertainty, 1.0F);
    grey.insert(grey.end(), 3, static_cast<std::uint8_t>(std::lround(share * 255)));
  }
  return EncodeCamera(prediction, grey);
}

}  // namespace

std::shared_ptr<const Prediction> LivePagePictures::Newest() {
  MutexLock lock(mu_);
  RememberNewest();
  return entries_.empty() ? nullptr : entries_.back().prediction;
}

absl::StatusOr<EncodedPicture> LivePagePictures::Encoded(PictureKind kind,
                                                         std::optional<std::int64_t> number) {
  MutexLock lock(mu_);
  Entry* entry = Find(number);
  if (entry == nullptr) return absl::NotFoundError("There is no prediction yet. Ask again.");
  MILLRACE_ASSIGN_OR_RETURN(const EncodedPicture* const picture, EncodedOnce(kind, *entry));
  return *picture;
}

absl::StatusOr<const EncodedPicture*> LivePagePictures::EncodedOnce(PictureKind kind,
                                                                    Entry& entry) {
  std::optional<EncodedPicture>& picture = entry.pictures[static_cast<int>(kind)];
  if (!picture.has_value()) {
    MILLRACE_ASSIGN_OR_RETURN(picture, Encode(kind, entry));
    ++encoded_;
  }
  return &*picture;
}

std::uint64_t LivePagePictures::encoded() const {
  MutexLock lock(mu_);
  return encoded_;
}

void LivePagePictures::RememberNewest() {
  std::shared_ptr<const Prediction> newest = ring_.Newest();
  if (newest == nullptr) return;
  if (!entries_.empty() && entries_.back().prediction == newest) return;
  entries_.push_back({.prediction = std::move(newest)});
  const std::chrono::nanoseconds now = entries_.back().prediction->emission_time;
  while (entries_.size() > kRemembered ||
         now - entries_.front().prediction->emission_time > kRememberedFor) {
    entries_.pop_front();
  }
}

LivePagePictures::Entry* LivePagePictures::Find(std::optional<std::int64_t> number) {
  if (number.has_value()) {
    for (Entry& entry : entries_) {
      if (entry.prediction->frame_number == *number) return &entry;
    }
  }
  RememberNewest();
  return entries_.empty() ? nullptr : &entries_.back();
}

absl::StatusOr<EncodedPicture> LivePagePictures::Encode(PictureKind kind, Entry& entry) {
  const Prediction& prediction = *entry.prediction;
  switch (kind) {
    case PictureKind::kCamera:
      return EncodeCamera(prediction, prediction.picture->rgb);
    case PictureKind::kFlow:
      if (prediction.model.flow == nullptr) return NoMotion();
      return EncodeFlow(prediction, *prediction.model.flow, scale_.Next(*prediction.model.flow));
    case PictureKind::kNext:
      return EncodeNext(prediction);
    case PictureKind::kReference:
      return EncodeReference(entry);
    case PictureKind::kUncertainty:
      break;
  }
  return EncodeUncertainty(prediction);
}

// In the colours of the model's flow, so that people can compare the two.
absl::StatusOr<EncodedPicture> LivePagePictures::EncodeReference(Entry& entry) {
  const auto& flow = entry.prediction->reference_flow;
  if (flow == nullptr) {
    return absl::NotFoundError(
        "This stream is not compared with another method: set its scores.compare_with.");
  }
  MILLRACE_ASSIGN_OR_RETURN(const EncodedPicture* const of_model,
                            EncodedOnce(PictureKind::kFlow, entry));
  return EncodeFlow(*entry.prediction, *flow, of_model->scale);
}

}  // namespace millrace::service
