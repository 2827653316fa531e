// Counts and limits the pipelines that did not end in time.
//
// GStreamer cannot be forced to end. If a camera makes its pipeline hang, the pipeline is abandoned
// with its threads and memory. Each abandoned pipeline is counted, so that one camera leaves only a
// few of them and does not stop other cameras from opening.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace millrace::ingest {

/// The limits for a pipeline's end.
struct EndLimits {
  /// After this time its connections are cut.
  std::chrono::milliseconds in_good_order{500};
  /// After this time, also counted from the start of the end, it is abandoned.
  std::chrono::milliseconds in_all{2000};
};

/// Counts over all sources of this process.
struct AbandonedPipelines {
  std::int64_t so_far = 0;   ///< Never decreases.
  std::int64_t hanging = 0;  ///< Abandoned pipelines that have not ended since.
};
/// Thread-safe.
[[nodiscard]] AbandonedPipelines CountAbandoned();
/// Counts a hanging pipeline that ended with its separate process in `so_far`. Thread-safe.
void CountKilledPipeline();

/// The owner of a pipeline.
struct PipelineOwner {
  /// The camera stream, or the URI without credentials if there is no stream. For the log too.
  std::string name = {};
  /// The machine that sends the pictures, independent of the stream and the path:
  /// "camera.local:554". For other sources the URI.
  std::string place = {};

  [[nodiscard]] auto operator<=>(const PipelineOwner&) const = default;
};

/// The maximum number of hanging pipelines: of one owner, of one place (a recorder has many
/// cameras), and of all places. At the last limit, a place with a hanging pipeline gets no new one.
inline constexpr std::int64_t kMaxHangingOfOne = 3;
inline constexpr std::int64_t kMaxHangingOfPlace = 16;
inline constexpr std::int64_t kMaxHanging = 64;

/// The number of hanging pipelines of this owner. Thread-safe.
[[nodiscard]] std::int64_t HangingOf(const PipelineOwner& owner);

/// The permission to open one pipeline. The pipeline is open, may hang, and ends with its slot. If
/// a pipeline of the owner hangs, its open ones count too, because they may hang next. Not
/// thread-safe.
class PipelineSlot {
 public:
  /// RESOURCE_EXHAUSTED, with the remedy, if too many pipelines hang to start another one for
  /// `owner`. Thread-safe.
  [[nodiscard]] static absl::StatusOr<PipelineSlot> Take(const PipelineOwner& owner);

  ~PipelineSlot();
  PipelineSlot(PipelineSlot&& from) noexcept;
  PipelineSlot& operator=(PipelineSlot&&) = delete;

  [[nodiscard]] const PipelineOwner& owner() const { return owner_; }
  /// Marks the pipeline as abandoned. Returns the number of this owner's hanging pipelines. Call it
  /// once.
  std::int64_t Abandon();

 private:
  explicit PipelineSlot(const PipelineOwner& owner) : owner_(owner) {}

  const PipelineOwner owner_;
  bool held_ = true;  ///< False after a move.
  bool hangs_ = false;
};

}  // namespace millrace::ingest
