#include "ingest/source/abandoned_pipelines.h"

#include <map>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"

namespace millrace::ingest {
namespace {

/// The counts of one owner.
struct Tally {
  std::int64_t open = 0;
  std::int64_t hanging = 0;
};

/// The counts of this process. Never destroyed, because hanging threads may end during the exit.
struct Abandoned {
  Mutex mu;
  AbandonedPipelines counts ABSL_GUARDED_BY(mu);
  std::map<PipelineOwner, Tally> tallies ABSL_GUARDED_BY(mu);  ///< No entry has two zeros.

  [[nodiscard]] Tally Of(const PipelineOwner& owner) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
    const auto found = tallies.find(owner);
    return found == tallies.end() ? Tally{} : found->second;
  }

  [[nodiscard]] std::int64_t HangingAt(const std::string& place) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
    std::int64_t hanging = 0;
    for (const auto& [owner, tally] : tallies) {
      if (owner.place == place) hanging += tally.hanging;
    }
    return hanging;
  }
};

Abandoned& All() {
  static auto* const all = new Abandoned;
  return *all;
}

absl::Status TooMany(std::int64_t hanging, std::string_view whose) {
  return absl::ResourceExhaustedError(absl::StrCat(
      hanging, " pipelines of ", std::string(whose),
      " hang in GStreamer; no other begins before one of them has ended. Restart the camera, "
      "then this server"));
}

/// Whether `owner` may start another pipeline.
absl::Status Check(const Abandoned& all, const PipelineOwner& owner)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(all.mu) {
  const Tally own = all.Of(owner);
  if (own.hanging > 0 && own.hanging + own.open >= kMaxHangingOfOne) {
    return TooMany(own.hanging, "earlier sessions");
  }
  const std::int64_t of_place = all.HangingAt(owner.place);
  if (of_place >= kMaxHangingOfPlace) {
    return TooMany(of_place, absl::StrCat("sources at ", owner.place));
  }
  if (of_place > 0 && all.counts.hanging >= kMaxHanging) {
    return TooMany(all.counts.hanging,
                   absl::StrCat("all sources, and of those at ", owner.place, " too,"));
  }
  return absl::OkStatus();
}

}  // namespace

AbandonedPipelines CountAbandoned() {
  Abandoned& all = All();
  const MutexLock lock(all.mu);
  return all.counts;
}

void CountKilledPipeline() {
  Abandoned& all = All();
  const MutexLock lock(all.mu);
  ++all.counts.so_far;
}

std::int64_t HangingOf(const PipelineOwner& owner) {
  Abandoned& all = All();
  const MutexLock lock(all.mu);
  return all.Of(owner).hanging;
}

absl::StatusOr<PipelineSlot> PipelineSlot::Take(const PipelineOwner& owner) {
  Abandoned& all = All();
  const MutexLock lock(all.mu);
  if (absl::Status checked = Check(all, owner); !checked.ok()) return checked;
  ++all.tallies[owner].open;
  return PipelineSlot(owner);
}

PipelineSlot::PipelineSlot(PipelineSlot&& from) noexcept
    : owner_(from.owner_), held_(std::exchange(from.held_, false)), hangs_(from.hangs_) {}

std::int64_t PipelineSlot::Abandon() {
  Abandoned& all = All();
  const MutexLock lock(all.mu);
  hangs_ = true;
  ++all.counts.so_far;
  ++all.counts.hanging;
  Tally& own = all.tallies[owner_];
  --own.open;
  return ++own.hanging;
}

PipelineSlot::~PipelineSlot() {
  if (!held_) return;
  Abandoned& all = All();
  const MutexLock lock(all.mu);
  const auto own = all.tallies.find(owner_);
  if (hangs_) --all.counts.hanging;
  --(hangs_ ? own->second.hanging : own->second.open);
  if (own->second.open == 0 && own->second.hanging == 0) all.tallies.erase(own);
}

}  // namespace millrace::ingest
