#include "service/frames/live_page_pictures.h"

#include <chrono>
#include <span>
#include <utility>

#include "base/status.h"
#include "pipeline/learner/picture_to_come.h"
#include "service/frames/jpeg.h"

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
  std::optional<EncodedPicture>& picture = entry->pictures[static_cast<int>(kind)];
  if (!picture.has_value()) {
    MILLRACE_ASSIGN_OR_RETURN(picture, Encode(kind, *entry->prediction));
    ++encoded_;
  }
  return *picture;
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

absl::StatusOr<EncodedPicture> LivePagePictures::Encode(PictureKind kind,
                                                        const Prediction& prediction) {
  switch (kind) {
    case PictureKind::kCamera:
      return EncodeCamera(prediction, prediction.picture->rgb);
    case PictureKind::kFlow:
      return EncodeFlow(prediction);
    case PictureKind::kNext:
      break;
  }
  if (!prediction.next_frame) {
    return absl::NotFoundError("This stream does not predict the next frame.");
  }
  const pipeline::ModelPrediction& model = prediction.model;
  return EncodeCamera(prediction, pipeline::PictureToCome(prediction.picture->rgb, *model.flow,
                                                          model.width, model.height));
}

absl::StatusOr<EncodedPicture> LivePagePictures::EncodeFlow(const Prediction& prediction) {
  const pipeline::ModelPrediction& model = prediction.model;
  if (model.flow == nullptr) return absl::NotFoundError("This stream predicts no motion.");
  const float scale = scale_.Next(*model.flow);
  MILLRACE_ASSIGN_OR_RETURN(std::string jpeg, EncodeJpeg(FlowColors(*model.flow, scale),
                                                         model.width, model.height, kFlowJpeg));
  return EncodedPicture{
      .frame_number = prediction.frame_number, .jpeg = std::move(jpeg), .scale = scale};
}

}  // namespace millrace::service
