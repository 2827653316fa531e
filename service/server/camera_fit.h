// Completes what a stream's entry leaves to its camera: the size of the model's input, and the
// frame rate to plan for.
//
// The cameras are looked at before their models are made. One that is away does not hold up the
// start: a usual camera is assumed in its place, and when it shows itself to be another, the stream
// is made anew for it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "ingest/inputs/look.h"
#include "service/config/config.h"

namespace millrace::service {

/// Whether `config` leaves something to its camera that a look at it tells.
[[nodiscard]] bool LeavesToCamera(const StreamConfig& config);

/// `config`, complete, for a camera of these facts. What the entry says stays.
[[nodiscard]] StreamConfig FitTo(const ingest::SourceFacts& facts, StreamConfig config);

/// What is assumed of a camera that is away: 1920x1080, 25 frames a second.
[[nodiscard]] ingest::SourceFacts UsualCamera();

/// A stream with all that its entry leaves to its camera.
struct FittedStream {
  StreamConfig config;
  /// Frames a second that its camera announces, 0 where it does not say. Of a camera that is away:
  /// as assumed. Nothing where the entry leaves nothing to the camera, which was not looked at.
  std::optional<double> announced = {};
};

/// Completes streams, and remembers for which of them a camera was assumed. Thread-safe.
class CameraFit {
 public:
  using LookAt =
      std::function<absl::StatusOr<ingest::SourceFacts>(const ingest::SourceOptions& options)>;

  /// `look` must be thread-safe.
  explicit CameraFit(LookAt look = ingest::Look) : look_(std::move(look)) {}

  CameraFit(const CameraFit&) = delete;
  CameraFit& operator=(const CameraFit&) = delete;

  /// Looks at the cameras of all of `streams` at the same time, so that those that are away cost
  /// one time-out together. Complete() takes what was seen, once.
  void LookAhead(const std::vector<StreamConfig>& streams, const std::stop_token& stop)
      ABSL_LOCKS_EXCLUDED(mu_);

  /// `config`, complete. A camera that is away is said in the log, and a usual one is assumed.
  /// Fails as Look() where the source is no camera (a missing file), and with CANCELLED once
  /// `config.source.stop` says so.
  [[nodiscard]] absl::StatusOr<FittedStream> Complete(const StreamConfig& config)
      ABSL_LOCKS_EXCLUDED(mu_);

  /// What the stream that is `now` is to be, now that its camera is known to be one of these facts:
  /// once, and nothing where it was known before, or is what was assumed. A change that came after
  /// the camera was assumed stays.
  [[nodiscard]] std::optional<StreamConfig> Correct(const StreamConfig& now,
                                                    const ingest::SourceFacts& facts)
      ABSL_LOCKS_EXCLUDED(mu_);

  /// Whether the camera of the stream `name` was assumed.
  [[nodiscard]] bool Assumed(const std::string& name) const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Seen = absl::StatusOr<ingest::SourceFacts>;

  [[nodiscard]] Seen LookOrRecall(const StreamConfig& config) ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after construction.
  const LookAt look_;

  mutable Mutex mu_;
  std::map<std::string, Seen> seen_ ABSL_GUARDED_BY(mu_);             ///< By the streams' names.
  std::map<std::string, StreamConfig> assumed_ ABSL_GUARDED_BY(mu_);  ///< As they were written.
};

}  // namespace millrace::service
