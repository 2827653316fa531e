// A source whose frames the test pushes itself.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <utility>

#include "base/clock.h"
#include "ingest/source/source.h"

namespace millrace::service {

/// Pushes frames of `width` x `height`, stamped by `clock`. Thread-safe; one thread pushes.
class FakeSource final : public ingest::Source {
 public:
  FakeSource(const ingest::SourceOptions& options, const Clock& clock)
      : clock_(clock),
        on_state_(options.on_state),
        width_(options.width),
        height_(options.height),
        queue_(static_cast<std::size_t>(options.queue_capacity), ingest::WhenFullOf(options)) {
    status_.state = ingest::SourceState::kStreaming;
    status_.camera_width = 768;
    status_.camera_height = 576;
    status_.camera_frames_per_second = 10;
    Tell(ingest::SourceState::kStreaming, absl::OkStatus());
  }

  ingest::FrameQueue& queue() override { return queue_; }
  ingest::SourceStatus status() const override {
    std::scoped_lock lock(mu_);
    return status_;
  }
  void Stop() override {
    Close(ingest::SourceState::kStopped);
    if (stop_until_.valid()) stop_until_.wait();
  }

  /// Once its queue is closed, Stop() waits for `until`.
  void HoldStop(std::shared_future<void> until) { stop_until_ = std::move(until); }

  /// Pushes the next frame: with its predecessor, or `without` one.
  void Push(ingest::NoPredecessor without = ingest::NoPredecessor::kHasOne) {
    ingest::Frame frame;
    frame.number = next_number_++;
    frame.epoch = epoch_;
    frame.arrival = clock_.Now();
    frame.picture = BlankPicture();
    frame.predecessor = without;
    if (without == ingest::NoPredecessor::kGap) ++gaps_;
    frame.gaps = gaps_;
    frame.size_changes = status().size_changes;
    if (without == ingest::NoPredecessor::kHasOne) {
      frame.previous = last_picture_;
      frame.before = last_previous_;
    }
    if (frame.previous == nullptr && without == ingest::NoPredecessor::kHasOne) {
      frame.predecessor = ingest::NoPredecessor::kFirst;
    }
    last_picture_ = frame.picture;
    last_previous_ = frame.previous;
    queue_.Push(std::move(frame));
  }

  /// The camera goes away, and is back.
  void GoAway(const absl::Status& cause) const {
    Tell(ingest::SourceState::kBackingOff, cause);
    Tell(ingest::SourceState::kStreaming, absl::OkStatus());
  }

  /// The next frame is the first of a new epoch.
  void Reconnect() {
    last_picture_ = nullptr;
    last_previous_ = nullptr;
    std::scoped_lock lock(mu_);
    status_.epoch = ++epoch_;
    ++status_.reconnects;
  }

  /// The camera's own pictures have another size: the next frame is the first of a new epoch.
  void ChangeCamera(int width, int height) {
    last_picture_ = nullptr;
    last_previous_ = nullptr;
    std::scoped_lock lock(mu_);
    status_.epoch = ++epoch_;
    ++status_.size_changes;
    status_.camera_width = width;
    status_.camera_height = height;
  }

  /// The source ends for good by itself.
  void End() { Close(ingest::SourceState::kEnded); }

  /// The next pictures have another size.
  void Resize(int width, int height) {
    width_ = width;
    height_ = height;
    last_picture_ = BlankPicture();
  }

 private:
  std::shared_ptr<const ingest::Picture> BlankPicture() const {
    const std::size_t bytes = std::size_t{3} * width_ * height_;
    return std::make_shared<ingest::Picture>(
        ingest::Picture{width_, height_, std::vector<std::uint8_t>(bytes)});
  }

  void Close(ingest::SourceState state) {
    {
      std::scoped_lock lock(mu_);
      if (status_.state != ingest::SourceState::kStreaming) return queue_.Close();
      status_.state = state;
    }
    Tell(state, absl::OkStatus());
    queue_.Close();
  }

  void Tell(ingest::SourceState state, const absl::Status& cause) const {
    if (on_state_) on_state_(state, cause);
  }

  const Clock& clock_;
  const std::function<void(ingest::SourceState, const absl::Status&)> on_state_;

  // The pushing thread's own.
  int width_;
  int height_;
  std::int64_t next_number_ = 0;
  std::int64_t epoch_ = 0;
  std::int64_t gaps_ = 0;
  std::shared_ptr<const ingest::Picture> last_picture_;
  std::shared_ptr<const ingest::Picture> last_previous_;

  std::shared_future<void> stop_until_;  // Constant once it may be stopped.

  ingest::FrameQueue queue_;
  mutable std::mutex mu_;
  ingest::SourceStatus status_;
};

}  // namespace millrace::service
