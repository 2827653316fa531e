// The pictures of the live page: the camera's picture, the flow in colour, and more on request.
// Each is encoded at most once for all viewers, and never without a viewer.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "service/frames/flow_colors.h"
#include "service/frames/prediction.h"
#include "service/frames/prediction_ring.h"

namespace millrace::service {

/// The shown part of a prediction.
enum class PictureKind {
  kCamera,  ///< The camera's picture.
  kFlow,    ///< The flow in colour.
  kNext,    ///< The predicted next picture.
  /// The flow of the method that predictions are compared with, in the colours of kFlow.
  kReference,
  /// The expected error of the flow: black none, white kWhiteUncertainty or more.
  kUncertainty,
};
inline constexpr int kPictureKinds = 5;
/// In pixels of the grid.
inline constexpr float kWhiteUncertainty = 1;

/// A JPEG of one prediction.
struct EncodedPicture {
  std::int64_t frame_number = 0;
  std::string jpeg = {};
  /// Scale of a flow's colours: pixels of motion at full saturation. 0 for the other kinds.
  float scale = 0;
};

/// The pictures of one camera stream. Thread-safe. The first request for a picture encodes it;
/// requests meanwhile wait. The ring must outlive this object.
class LivePagePictures {
 public:
  explicit LivePagePictures(const PredictionRing& ring) : ring_(ring) {}

  /// The newest prediction; null before the first. Its pictures stay available by number for a
  /// while, so that a picture and its flow show the same moment.
  [[nodiscard]] std::shared_ptr<const Prediction> Newest() ABSL_LOCKS_EXCLUDED(mu_);

  /// A picture of frame `number`, or of the newest prediction if `number` is absent or expired.
  /// NOT_FOUND before the first prediction, and if the model does not predict this kind.
  [[nodiscard]] absl::StatusOr<EncodedPicture> Encoded(PictureKind kind,
                                                       std::optional<std::int64_t> number)
      ABSL_LOCKS_EXCLUDED(mu_);

  /// Pictures encoded so far.
  [[nodiscard]] std::uint64_t encoded() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Entry {
    std::shared_ptr<const Prediction> prediction;
    std::array<std::optional<EncodedPicture>, kPictureKinds> pictures = {};
  };

  void RememberNewest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Entry* Find(std::optional<std::int64_t> number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<const EncodedPicture*> EncodedOnce(PictureKind kind, Entry& entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<EncodedPicture> Encode(PictureKind kind, Entry& entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<EncodedPicture> EncodeReference(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Self-synchronized.
  const PredictionRing& ring_;

  mutable Mutex mu_;
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mu_);  // Oldest first.
  FlowScale scale_ ABSL_GUARDED_BY(mu_);
  std::uint64_t encoded_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace millrace::service
