// The current source of a stream, which another source can replace while the stream runs.
//
//   source 1 ─▶ queue ─┐ frames 0..41, epochs 0..1
//   source 2 ─▶ queue ─┴▶ frames 42..., epochs 2...  ─▶ Pop()
//
// To the stream it is one source: counts are sums. Each source numbers its frames from 0; only this
// class renumbers them, after earlier sources and after earlier processes of the stream.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "ingest/source/source.h"
#include "pipeline/learner/learner_safety.h"

namespace millrace::service {

/// One thread calls Pop(); all other functions are thread-safe.
class ReplaceableSource {
 public:
  /// `uri` is the URI of `source` without credentials. `start` gives the numbers of the first frame
  /// and of its epoch.
  ReplaceableSource(std::unique_ptr<ingest::Source> source, std::string uri,
                    const pipeline::SourcePosition& start = {});

  ReplaceableSource(const ReplaceableSource&) = delete;
  ReplaceableSource& operator=(const ReplaceableSource&) = delete;

  /// Waits for the oldest frame. Returns nullopt after the source has ended for good and its queue
  /// is empty.
  [[nodiscard]] std::optional<ingest::Frame> Pop() ABSL_LOCKS_EXCLUDED(mu_);

  /// Stops the source and replaces it by `next`. Waiting frames of the old source come first, then
  /// frames of the new one; its first frame has no predecessor. Takes as long as Stop().
  /// CANCELLED after Stop(), and FAILED_PRECONDITION after Pop() has returned nullopt.
  absl::Status Replace(std::unique_ptr<ingest::Source> next, std::string uri)
      ABSL_LOCKS_EXCLUDED(mu_);

  /// Stops the source for good. Idempotent.
  void Stop() ABSL_LOCKS_EXCLUDED(mu_);

  /// The entry of the current source.
  [[nodiscard]] std::shared_ptr<ingest::PushEntry> push_entry() const ABSL_LOCKS_EXCLUDED(mu_) {
    return current().source->push_entry();
  }
  /// The status of the current source, but `epoch` is numbered as the frames are.
  [[nodiscard]] ingest::SourceStatus status() const ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] std::string uri() const ABSL_LOCKS_EXCLUDED(mu_);

  /// The number of the next frame to arrive.
  [[nodiscard]] std::int64_t next_number() const ABSL_LOCKS_EXCLUDED(mu_) {
    return first_number_ + static_cast<std::int64_t>(received());
  }
  /// As in FrameQueue, summed over all sources of this process.
  [[nodiscard]] std::uint64_t received() const ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] std::uint64_t dropped() const ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] std::uint64_t rejected_after_close() const ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] std::size_t waiting() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  /// The totals of the earlier sources; `epochs` also counts those of earlier processes.
  struct Past {
    std::uint64_t received = 0;
    std::uint64_t dropped = 0;
    std::uint64_t rejected_after_close = 0;
    std::int64_t epochs = 0;
  };
  struct Entry {
    std::shared_ptr<ingest::Source> source;  // Shared with the thread in Pop().
    std::string uri;
    Past past;
  };

  [[nodiscard]] static Past After(const Entry& entry);
  [[nodiscard]] Entry current() const ABSL_LOCKS_EXCLUDED(mu_);
  /// Waits for a running Replace(), then continues with the next source. Returns whether there is
  /// one.
  [[nodiscard]] bool Advance() ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] ingest::Frame Renumbered(ingest::Frame frame);

  // Constant after construction.
  const std::int64_t first_number_;

  // Used by Pop()'s thread only: its source, which may already have been replaced.
  Entry popped_;
  std::int64_t gaps_before_ = 0;
  std::int64_t size_changes_before_ = 0;
  std::int64_t gaps_ = 0;
  std::int64_t size_changes_ = 0;

  mutable Mutex mu_;
  CondVar changed_;
  // From the source of Pop() to the current source, in order.
  std::deque<Entry> sources_ ABSL_GUARDED_BY(mu_);
  bool changing_ ABSL_GUARDED_BY(mu_) = false;
  bool over_ ABSL_GUARDED_BY(mu_) = false;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace millrace::service
