#include "service/live_page_pictures.h"

#include <utility>

#include "base/status.h"
#include "service/jpeg.h"

namespace millrace::service {
namespace {

// Enough for the requests that are on their way: pages ask again several times a second.
constexpr std::size_t kRemembered = 4;
constexpr JpegOptions kCameraJpeg = {.quality = 80, .fine_colors = false};
// Flat colours with sharp edges show artefacts sooner.
constexpr JpegOptions kFlowJpeg = {.quality = 90, .fine_colors = true};

absl::StatusOr<EncodedPicture> EncodeCamera(const Prediction& prediction) {
  const ingest::Picture& picture = *prediction.picture;
  MILLRACE_ASSIGN_OR_RETURN(std::string jpeg,
                            EncodeJpeg(picture.rgb, picture.width, picture.height, kCameraJpeg));
  return EncodedPicture{.frame_number = prediction.frame_number, .jpeg = std::move(jpeg)};
}

}  // namespace

std::shared_ptr<const Prediction> LivePagePictures::Newest() {
  MutexLock lock(mu_);
  RememberNewest();
  return entries_.empty() ? nullptr : entries_.back().prediction;
}

absl::StatusOr<EncodedPicture> LivePagePictures::Camera(std::optional<std::int64_t> number) {
  MutexLock lock(mu_);
  Entry* entry = Find(number);
  if (entry == nullptr) return absl::NotFoundError("there is no prediction yet");
  if (!entry->camera.has_value()) {
    MILLRACE_ASSIGN_OR_RETURN(entry->camera, EncodeCamera(*entry->prediction));
    ++encoded_;
  }
  return *entry->camera;
}

absl::StatusOr<EncodedPicture> LivePagePictures::Flow(std::optional<std::int64_t> number) {
  MutexLock lock(mu_);
  Entry* entry = Find(number);
  if (entry == nullptr) return absl::NotFoundError("there is no prediction yet");
  if (entry->prediction->model.flow == nullptr) {
    return absl::FailedPreconditionError("the stream predicts no flow");
  }
  if (!entry->flow.has_value()) {
    MILLRACE_ASSIGN_OR_RETURN(entry->flow, EncodeFlow(*entry->prediction));
    ++encoded_;
  }
  return *entry->flow;
}

std::uint64_t LivePagePictures::encoded() const {
  MutexLock lock(mu_);
  return encoded_;
}

void LivePagePictures::RememberNewest() {
  std::shared_ptr<const Prediction> newest = ring_.Newest();
  if (newest == nullptr) return;
  if (!entries_.empty() && entries_.back().prediction == newest) return;
  entries_.push_back({.prediction = std::move(newest), .camera = {}, .flow = {}});
  if (entries_.size() > kRemembered) entries_.pop_front();
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

absl::StatusOr<EncodedPicture> LivePagePictures::EncodeFlow(const Prediction& prediction) {
  const pipeline::ModelPrediction& model = prediction.model;
  const float scale = scale_.Next(*model.flow);
  MILLRACE_ASSIGN_OR_RETURN(std::string jpeg, EncodeJpeg(FlowColors(*model.flow, scale),
                                                         model.width, model.height, kFlowJpeg));
  return EncodedPicture{
      .frame_number = prediction.frame_number, .jpeg = std::move(jpeg), .scale = scale};
}

}  // namespace millrace::service
