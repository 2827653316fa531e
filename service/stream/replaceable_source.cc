#include "service/stream/replaceable_source.h"

#include <utility>

namespace millrace::service {

ReplaceableSource::ReplaceableSource(std::unique_ptr<ingest::Source> source, std::string uri,
                                     const pipeline::SourcePosition& start)
    : first_number_(start.frames),
      popped_{.source = std::move(source), .uri = std::move(uri), .past = {.epochs = start.epochs}},
      sources_{popped_} {}

std::optional<ingest::Frame> ReplaceableSource::Pop() {
  do {
    if (std::optional<ingest::Frame> frame = popped_.source->queue().Pop()) {
      return Renumbered(*std::move(frame));
    }
  } while (Advance());
  return std::nullopt;
}

ingest::Frame ReplaceableSource::Renumbered(ingest::Frame frame) {
  frame.number += first_number_ + static_cast<std::int64_t>(popped_.past.received);
  frame.epoch += popped_.past.epochs;
  gaps_ = frame.gaps += gaps_before_;
  size_changes_ = frame.size_changes += size_changes_before_;
  return frame;
}

bool ReplaceableSource::Advance() {
  const MutexLock lock(mu_);
  while (changing_) changed_.wait(mu_);
  if (sources_.size() == 1) {
    over_ = true;
    return false;
  }
  sources_.pop_front();
  popped_ = sources_.front();
  gaps_before_ = gaps_;
  size_changes_before_ = size_changes_;
  return true;
}

absl::Status ReplaceableSource::Replace(std::unique_ptr<ingest::Source> next, std::string uri) {
  Entry old;
  {
    const MutexLock lock(mu_);
    while (changing_) changed_.wait(mu_);
    if (stopped_) return absl::CancelledError("the stream was stopped");
    if (over_) return absl::FailedPreconditionError("the stream has ended");
    changing_ = true;
    old = sources_.back();
  }
  // No lock is held during Stop(). Afterwards the old source's counts are final.
  old.source->Stop();
  {
    const MutexLock lock(mu_);
    changing_ = false;
    changed_.notify_all();
    if (!over_) {
      sources_.push_back({.source = std::move(next), .uri = std::move(uri), .past = After(old)});
      return absl::OkStatus();
    }
  }
  next->Stop();
  return absl::CancelledError("the stream was stopped");
}

void ReplaceableSource::Stop() {
  Entry now;
  {
    const MutexLock lock(mu_);
    over_ = true;
    stopped_ = true;
    now = sources_.back();
  }
  now.source->Stop();
}

ReplaceableSource::Past ReplaceableSource::After(const Entry& entry) {
  const ingest::FrameQueue& queue = entry.source->queue();
  // An epoch has at least one frame: a source without frames has begun no epoch.
  const std::int64_t epochs = queue.received() > 0 ? entry.source->status().epoch + 1 : 0;
  return {.received = entry.past.received + queue.received(),
          .dropped = entry.past.dropped + queue.dropped(),
          .rejected_after_close = entry.past.rejected_after_close + queue.rejected_after_close(),
          .epochs = entry.past.epochs + epochs};
}

ReplaceableSource::Entry ReplaceableSource::current() const {
  const MutexLock lock(mu_);
  return sources_.back();
}

ingest::SourceStatus ReplaceableSource::status() const {
  const Entry now = current();
  ingest::SourceStatus status = now.source->status();
  status.epoch += now.past.epochs;
  return status;
}

std::string ReplaceableSource::uri() const { return current().uri; }

std::uint64_t ReplaceableSource::received() const {
  const Entry now = current();
  return now.past.received + now.source->queue().received();
}

std::uint64_t ReplaceableSource::dropped() const {
  const Entry now = current();
  return now.past.dropped + now.source->queue().dropped();
}

std::uint64_t ReplaceableSource::rejected_after_close() const {
  const Entry now = current();
  return now.past.rejected_after_close + now.source->queue().rejected_after_close();
}

std::size_t ReplaceableSource::waiting() const {
  MutexLock lock(mu_);
  std::size_t frames = 0;
  for (const Entry& entry : sources_) frames += entry.source->queue().waiting();
  return frames;
}

}  // namespace millrace::service
