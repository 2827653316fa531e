// The pictures of the live page: what the camera saw and the flow in colour, encoded at most once
// however many watch, and never when nobody does.
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

/// What of a prediction is shown.
enum class PictureKind {
  kCamera,  ///< What the camera saw.
  kFlow,    ///< The flow in colour.
  kNext,    ///< The picture to come.
};
inline constexpr int kPictureKinds = 3;

/// A JPEG of one prediction.
struct EncodedPicture {
  std::int64_t frame_number = 0;
  std::string jpeg = {};
  /// Of the flow's colours: pixels of motion at full colour. 0 for the other kinds.
  float scale = 0;
};

/// The pictures of one camera stream. Thread-safe; whoever asks first for a picture encodes it, and
/// who asks meanwhile waits for it. The ring must outlive this.
class LivePagePictures {
 public:
  explicit LivePagePictures(const PredictionRing& ring) : ring_(ring) {}

  /// The newest prediction, or null before the first. Its pictures can be asked for by number for
  /// a while, so that a picture and its flow are of the same moment.
  [[nodiscard]] std::shared_ptr<const Prediction> Newest() ABSL_LOCKS_EXCLUDED(mu_);

  /// A picture of frame `number`, or of the newest prediction where that one is gone or absent.
  /// Fails with NOT_FOUND before the first prediction, and where it foretells no picture.
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
  absl::StatusOr<EncodedPicture> Encode(PictureKind kind, const Prediction& prediction)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<EncodedPicture> EncodeFlow(const Prediction& prediction)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Self-synchronized.
  const PredictionRing& ring_;

  mutable Mutex mu_;
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mu_);  // Oldest first.
  FlowScale scale_ ABSL_GUARDED_BY(mu_);
  std::uint64_t encoded_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace millrace::service
