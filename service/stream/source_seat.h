// The place of a stream's source, which another source can take while the stream goes on.
//
//   source 1 ─▶ queue ─┐ frames 0..41, epochs 0..1
//   source 2 ─▶ queue ─┴▶ frames 42..., epochs 2...  ─▶ Pop()
//
// To the stream it is one source: frames are numbered on, and counts are sums.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "ingest/source/source.h"

namespace millrace::service {

/// Pop() is for one thread; the rest is thread-safe.
class SourceSeat {
 public:
  /// `uri`: of `source`, as it may be shown.
  SourceSeat(std::unique_ptr<ingest::Source> source, std::string uri);

  SourceSeat(const SourceSeat&) = delete;
  SourceSeat& operator=(const SourceSeat&) = delete;

  /// Waits for the oldest frame. Returns nullopt once the source has ended for good and its queue
  /// is empty.
  [[nodiscard]] std::optional<ingest::Frame> Pop() ABSL_LOCKS_EXCLUDED(mu_);

  /// Stops the source and seats `next`. Frames that wait in the old source's queue come first, then
  /// those of the new one, the first of them without a predecessor. Takes as long as Stop(). Fails
  /// with FAILED_PRECONDITION once Pop() has returned nullopt, and once stopped.
  absl::Status Replace(std::unique_ptr<ingest::Source> next, std::string uri)
      ABSL_LOCKS_EXCLUDED(mu_);

  /// Stops the source, for good. Idempotent.
  void Stop() ABSL_LOCKS_EXCLUDED(mu_);

  /// Of the source that sits there now.
  [[nodiscard]] std::shared_ptr<ingest::PushEntry> push_entry() const ABSL_LOCKS_EXCLUDED(mu_) {
    return seated().source->push_entry();
  }
  /// Of the source that sits there now, but `epoch`, which counts on.
  [[nodiscard]] ingest::SourceStatus status() const ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] std::string uri() const ABSL_LOCKS_EXCLUDED(mu_);

  /// As those of a FrameQueue, over all sources.
  [[nodiscard]] std::uint64_t received() const ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] std::uint64_t dropped() const ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] std::uint64_t shut_out() const ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] std::size_t waiting() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  /// What the sources before have counted.
  struct Past {
    std::uint64_t received = 0;
    std::uint64_t dropped = 0;
    std::uint64_t shut_out = 0;
    std::int64_t epochs = 0;
  };
  struct Seated {
    std::shared_ptr<ingest::Source> source;  // Shared with the thread in Pop().
    std::string uri;
    Past past;
  };

  [[nodiscard]] static Past After(const Seated& seated);
  [[nodiscard]] Seated seated() const ABSL_LOCKS_EXCLUDED(mu_);
  /// Waits for a change under way, and goes on to the next in line. Returns whether there is one.
  [[nodiscard]] bool MoveOn() ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] ingest::Frame NumberedOn(ingest::Frame frame);

  // Of Pop()'s thread: what it takes from, which may be a source that has left the seat.
  Seated popped_;
  std::int64_t gaps_before_ = 0;
  std::int64_t size_changes_before_ = 0;
  std::int64_t gaps_ = 0;
  std::int64_t size_changes_ = 0;

  mutable Mutex mu_;
  CondVar changed_;
  // The one that Pop() takes from, those that took the seat since, and the one that sits there now.
  std::deque<Seated> line_ ABSL_GUARDED_BY(mu_);
  bool changing_ ABSL_GUARDED_BY(mu_) = false;
  bool over_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace millrace::service
