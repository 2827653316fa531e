// Completes the settings that a stream's entry leaves to its camera: the size of the model's input,
// and the frame rate to plan for.
//
// The cameras are probed before the models are made, for kMaxProbe at most. A typical camera is
// assumed in place of a camera that is away. If the camera later turns out to be different, the
// stream is recreated for it.
#pragma once

#include <chrono>
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

/// Whether `config` leaves a setting to its camera that probing the camera determines.
[[nodiscard]] bool LeavesToCamera(const StreamConfig& config);

/// `config`, completed for a camera with these facts. Explicit settings of the entry stay.
[[nodiscard]] StreamConfig FitTo(const ingest::SourceFacts& facts, StreamConfig config);

/// The assumed facts of a camera that is away: 1920x1080, 25 frames a second.
[[nodiscard]] ingest::SourceFacts UsualCamera();

/// A probe takes no longer, even with a longer `connect_timeout`: the start, and the creation of
/// the stream, wait for it.
inline constexpr std::chrono::seconds kMaxProbe(5);

/// `source` with a time limit for a probe.
[[nodiscard]] ingest::SourceOptions ForProbe(ingest::SourceOptions source);

/// A stream with all settings completed.
struct FittedStream {
  StreamConfig config;
  /// Frames a second that the camera announces; 0: unknown. For a camera that is away: the assumed
  /// rate. Nullopt if the camera was not probed, because the entry leaves no setting to it.
  std::optional<double> announced = {};
};

/// Completes streams, and remembers the streams whose camera was assumed. Thread-safe.
class CameraFit {
 public:
  using LookAt =
      std::function<absl::StatusOr<ingest::SourceFacts>(const ingest::SourceOptions& options)>;

  /// `look` must be thread-safe.
  explicit CameraFit(LookAt look = ingest::Look) : look_(std::move(look)) {}

  CameraFit(const CameraFit&) = delete;
  CameraFit& operator=(const CameraFit&) = delete;

  /// Probes the cameras of all `streams` in parallel, so that all absent cameras together cost one
  /// time-out. Complete() uses each result once.
  void LookAhead(const std::vector<StreamConfig>& streams, const std::stop_token& stop)
      ABSL_LOCKS_EXCLUDED(mu_);

  /// `config`, completed. If the camera is away, logs it and assumes a typical camera. Fails as
  /// Look() if the source is no camera (a missing file), and with CANCELLED once `stop` is
  /// requested.
  [[nodiscard]] absl::StatusOr<FittedStream> Complete(const StreamConfig& config,
                                                      const std::stop_token& stop = {})
      ABSL_LOCKS_EXCLUDED(mu_);

  /// Returns the new configuration of the stream `now` once its camera is known to have these
  /// facts. Returns a value at most once; nullopt if the camera was known before or equals the
  /// assumed one. Keeps changes that were made after the camera was assumed.
  [[nodiscard]] std::optional<StreamConfig> Correct(const StreamConfig& now,
                                                    const ingest::SourceFacts& facts)
      ABSL_LOCKS_EXCLUDED(mu_);

  /// Whether the camera of the stream `name` was assumed.
  [[nodiscard]] bool Assumed(const std::string& name) const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Seen = absl::StatusOr<ingest::SourceFacts>;

  [[nodiscard]] Seen Probe(const StreamConfig& config, const std::stop_token& stop) const;
  [[nodiscard]] Seen LookOrRecall(const StreamConfig& config, const std::stop_token& stop)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after construction.
  const LookAt look_;

  mutable Mutex mu_;
  std::map<std::string, Seen> seen_ ABSL_GUARDED_BY(mu_);             ///< By the streams' names.
  std::map<std::string, StreamConfig> assumed_ ABSL_GUARDED_BY(mu_);  ///< As they were written.
};

}  // namespace millrace::service
