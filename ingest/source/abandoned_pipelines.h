// Pipelines that did not end in time, and may never: how many there are, and how many there may be.
//
// GStreamer cannot be made to end. Where a camera brings it to hang, its pipeline is left behind
// with its threads and its memory, and nobody waits for it any more. Each one is counted, so that
// one camera leaves a few behind and keeps no other camera from being opened.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace millrace::ingest {

/// How long a pipeline may take to end.
struct EndLimits {
  /// Its connections are cut then.
  std::chrono::milliseconds in_good_order{500};
  /// It is abandoned then. From the beginning, too.
  std::chrono::milliseconds in_all{2000};
};

/// Of all sources of this process.
struct AbandonedPipelines {
  std::int64_t so_far = 0;   ///< Never falls.
  std::int64_t hanging = 0;  ///< Those that have not ended by themselves since.
};
/// Thread-safe.
[[nodiscard]] AbandonedPipelines CountAbandoned();
/// A pipeline hung in a process of its own, and ended with it: it is of those so far. Thread-safe.
void CountKilledPipeline();

/// Whose a pipeline is.
struct PipelineOwner {
  /// The camera stream, or the URI without credentials where there is none. For the log, too.
  std::string name = {};
  /// The machine that its pictures come from, whatever the stream and the path are called:
  /// "camera.local:554". Else the URI.
  std::string place = {};

  [[nodiscard]] auto operator<=>(const PipelineOwner&) const = default;
};

/// The most pipelines that may hang: of one owner, of one place (a recorder has many cameras), and
/// of all places before one of which some hang gets no other.
inline constexpr std::int64_t kMostHangingOfOne = 3;
inline constexpr std::int64_t kMostHangingOfPlace = 16;
inline constexpr std::int64_t kMostHanging = 64;

/// How many of this owner's hang. Thread-safe.
[[nodiscard]] std::int64_t HangingOf(const PipelineOwner& owner);

/// A pipeline that may be: it is open, then perhaps hangs, and ends with its slot. Those that are
/// open count, too, where one of the same owner hangs: they may be about to. Not thread-safe.
class PipelineSlot {
 public:
  /// RESOURCE_EXHAUSTED, saying what to do, where too many hang for `owner` to begin another.
  /// Thread-safe.
  [[nodiscard]] static absl::StatusOr<PipelineSlot> Take(const PipelineOwner& owner);

  ~PipelineSlot();
  PipelineSlot(PipelineSlot&& from) noexcept;
  PipelineSlot& operator=(PipelineSlot&&) = delete;

  [[nodiscard]] const PipelineOwner& owner() const { return *owner_; }
  /// The pipeline is left behind. Returns how many of this owner's hang. To be called once.
  std::int64_t Abandon();

 private:
  explicit PipelineSlot(const PipelineOwner& owner) : owner_(owner) {}

  std::optional<PipelineOwner> owner_;  ///< Absent: it was moved.
  bool hangs_ = false;
};

}  // namespace millrace::ingest
