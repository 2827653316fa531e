#include "service/stream/source_seat.h"

#include <utility>

namespace millrace::service {

SourceSeat::SourceSeat(std::unique_ptr<ingest::Source> source, std::string uri,
                       const pipeline::SourcePosition& start)
    : first_number_(start.frames),
      popped_{.source = std::move(source), .uri = std::move(uri), .past = {.epochs = start.epochs}},
      line_{popped_} {}

std::optional<ingest::Frame> SourceSeat::Pop() {
  do {
    if (std::optional<ingest::Frame> frame = popped_.source->queue().Pop()) {
      return NumberedOn(*std::move(frame));
    }
  } while (MoveOn());
  return std::nullopt;
}

ingest::Frame SourceSeat::NumberedOn(ingest::Frame frame) {
  frame.number += first_number_ + static_cast<std::int64_t>(popped_.past.received);
  frame.epoch += popped_.past.epochs;
  gaps_ = frame.gaps += gaps_before_;
  size_changes_ = frame.size_changes += size_changes_before_;
  return frame;
}

bool SourceSeat::MoveOn() {
  const MutexLock lock(mu_);
  while (changing_) changed_.wait(mu_);
  if (line_.size() == 1) {
    over_ = true;
    return false;
  }
  line_.pop_front();
  popped_ = line_.front();
  gaps_before_ = gaps_;
  size_changes_before_ = size_changes_;
  return true;
}

absl::Status SourceSeat::Replace(std::unique_ptr<ingest::Source> next, std::string uri) {
  Seated old;
  {
    const MutexLock lock(mu_);
    while (changing_) changed_.wait(mu_);
    if (over_) return absl::FailedPreconditionError("the stream has ended");
    changing_ = true;
    old = line_.back();
  }
  // No lock is held during Stop(). Afterwards the old source's counts are final.
  old.source->Stop();
  {
    const MutexLock lock(mu_);
    changing_ = false;
    changed_.notify_all();
    if (!over_) {
      line_.push_back({.source = std::move(next), .uri = std::move(uri), .past = After(old)});
      return absl::OkStatus();
    }
  }
  next->Stop();
  return absl::FailedPreconditionError("the stream was stopped");
}

void SourceSeat::Stop() {
  Seated now;
  {
    const MutexLock lock(mu_);
    over_ = true;
    now = line_.back();
  }
  now.source->Stop();
}

SourceSeat::Past SourceSeat::After(const Seated& seated) {
  const ingest::FrameQueue& queue = seated.source->queue();
  // An epoch has at least one frame: a source without frames has begun no epoch.
  const std::int64_t epochs = queue.received() > 0 ? seated.source->status().epoch + 1 : 0;
  return {.received = seated.past.received + queue.received(),
          .dropped = seated.past.dropped + queue.dropped(),
          .shut_out = seated.past.shut_out + queue.shut_out(),
          .epochs = seated.past.epochs + epochs};
}

SourceSeat::Seated SourceSeat::seated() const {
  const MutexLock lock(mu_);
  return line_.back();
}

ingest::SourceStatus SourceSeat::status() const {
  const Seated now = seated();
  ingest::SourceStatus status = now.source->status();
  status.epoch += now.past.epochs;
  return status;
}

std::string SourceSeat::uri() const { return seated().uri; }

std::uint64_t SourceSeat::received() const {
  const Seated now = seated();
  return now.past.received + now.source->queue().received();
}

std::uint64_t SourceSeat::dropped() const {
  const Seated now = seated();
  return now.past.dropped + now.source->queue().dropped();
}

std::uint64_t SourceSeat::shut_out() const {
  const Seated now = seated();
  return now.past.shut_out + now.source->queue().shut_out();
}

std::size_t SourceSeat::waiting() const {
  MutexLock lock(mu_);
  std::size_t frames = 0;
  for (const Seated& seated : line_) frames += seated.source->queue().waiting();
  return frames;
}

}  // namespace millrace::service
