// The pictures of the live page: what the camera saw and the flow in colour, encoded at most once
// however many watch, and never when nobody does.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "service/flow_colors.h"
#include "service/prediction.h"
#include "service/prediction_ring.h"

namespace millrace::service {

/// A JPEG of one prediction.
struct EncodedPicture {
  std::int64_t frame_number = 0;
  std::string jpeg = {};
  /// Of the flow's colours: pixels of motion at full colour. 0 for the camera's picture.
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

  /// The camera's picture or the flow of frame `number`, or of the newest prediction where that one
  /// is gone or absent. Fails with NOT_FOUND before the first prediction.
  [[nodiscard]] absl::StatusOr<EncodedPicture> Camera(std::optional<std::int64_t> number)
      ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] absl::StatusOr<EncodedPicture> Flow(std::optional<std::int64_t> number)
      ABSL_LOCKS_EXCLUDED(mu_);

  /// Pictures encoded so far.
  [[nodiscard]] std::uint64_t encoded() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Entry {
    std::shared_ptr<const Prediction> prediction;
    std::optional<EncodedPicture> camera;
    std::optional<EncodedPicture> flow;
  };

  void RememberNewest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Entry* Find(std::optional<std::int64_t> number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
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
