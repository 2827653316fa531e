#include "ingest/abandoned_pipelines.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"

namespace millrace::ingest {
namespace {

/// Of this process. Never destroyed: threads that hang may end while it exits.
struct Abandoned {
  Mutex mu;
  AbandonedPipelines counts ABSL_GUARDED_BY(mu);
  std::map<std::string, std::int64_t> hanging ABSL_GUARDED_BY(mu);  ///< By owner, above 0.
};

Abandoned& All() {
  static auto* const all = new Abandoned;
  return *all;
}

}  // namespace

AbandonedPipelines CountAbandoned() {
  Abandoned& all = All();
  const MutexLock lock(all.mu);
  return all.counts;
}

std::int64_t HangingOf(const std::string& owner) {
  Abandoned& all = All();
  const MutexLock lock(all.mu);
  const auto found = all.hanging.find(owner);
  return found == all.hanging.end() ? 0 : found->second;
}

absl::Status MayBegin(const std::string& owner) {
  if (const std::int64_t hanging = HangingOf(owner); hanging >= kMostHangingOfOne) {
    return absl::ResourceExhaustedError(absl::StrCat(
        hanging,
        " pipelines of earlier sessions hang in GStreamer; no other begins before one of "
        "them has ended; restart the camera, then this server"));
  }
  if (const std::int64_t hanging = CountAbandoned().hanging; hanging >= kMostHanging) {
    return absl::ResourceExhaustedError(
        absl::StrCat(hanging,
                     " pipelines of all sources hang in GStreamer; no other begins before "
                     "one of them has ended; restart this server"));
  }
  return absl::OkStatus();
}

std::int64_t Abandon(const std::string& owner) {
  Abandoned& all = All();
  const MutexLock lock(all.mu);
  ++all.counts.so_far;
  ++all.counts.hanging;
  return ++all.hanging[owner];
}

void EndAbandoned(const std::string& owner) {
  Abandoned& all = All();
  const MutexLock lock(all.mu);
  --all.counts.hanging;
  const auto found = all.hanging.find(owner);
  if (--found->second == 0) all.hanging.erase(found);
}

}  // namespace millrace::ingest
