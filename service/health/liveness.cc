#include "service/health/liveness.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/plural.h"

namespace millrace::service {
namespace {

using std::chrono::nanoseconds;

/// Why a stream requires a restart of the process; empty: it does not. `stuck`: how long its
/// learner has finished no frame.
std::string WhyNotAlive(const StreamSnapshot& stream, nanoseconds stuck) {
  // A GPU failed (pipeline/device/device_failure.h).
  if (absl::IsAborted(stream.learner)) {
    return absl::StrCat(stream.name,
                        ": the learner failed: ", std::string(stream.learner.message()), "\n");
  }
  if (stuck < Liveness::kPatience) return "";
  return absl::StrCat(stream.name, ": hangs: its learner has made nothing of ",
                      Plural(stream.frames.in_flight, "frame"), " in flight for ",
                      std::chrono::duration_cast<std::chrono::seconds>(stuck).count(), " s\n");
}

}  // namespace

Liveness::Liveness(const StreamRegistry& streams, const Clock& clock,
                   std::function<std::string()> process_fault)
    : streams_(streams), clock_(clock), process_fault_(std::move(process_fault)) {}

void Liveness::SetUnreachable(std::string why) {
  const MutexLock lock(mu_);
  unreachable_ = std::move(why);
}

std::string Liveness::unreachable() const {
  const MutexLock lock(mu_);
  return unreachable_;
}

Liveness::Verdict Liveness::Judge() {
  std::vector<std::pair<std::string, StreamSnapshot>> snapshots;
  for (const SharedStream& served : streams_.All()) {
    snapshots.emplace_back(served->run_id, served->stream->Snapshot());
  }
  const std::string process_fault = process_fault_();
  const nanoseconds now = clock_.Now();
  std::map<std::string, Progress> seen;
  const MutexLock lock(mu_);
  std::string why = unreachable_ + process_fault;
  for (const auto& [incarnation, stream] : snapshots) {
    const auto before = seen_.find(incarnation);
    const Progress progress = After(before == seen_.end() ? nullptr : &before->second, stream, now);
    why += WhyNotAlive(stream, now - progress.since);
    seen.emplace(incarnation, progress);
  }
  seen_ = std::move(seen);  // Drops incarnations that have ended.
  if (why.empty()) return {.alive = true, .text = "ok\n"};
  return {.alive = false, .text = std::move(why)};
}

Liveness::Progress Liveness::After(const Progress* before, const StreamSnapshot& stream,
                                   nanoseconds now) {
  const FrameCounts& frames = stream.frames;
  const std::uint64_t ended = frames.predicted + frames.dropped_in_all() -
                              frames.dropped[static_cast<std::size_t>(DropReason::kQueueFull)];
  const bool has_work = frames.in_flight > 0 && !IsAway(stream.source.state);
  const bool stuck = has_work && before != nullptr && before->ended == ended;
  return {.ended = ended, .since = stuck ? before->since : now};
}

}  // namespace millrace::service
