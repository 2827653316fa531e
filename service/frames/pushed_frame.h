// A frame that a client pushed, from its arrival to its outcome. It has exactly one outcome.
//
//   client ─▶ queue ─▶ learner's thread ─▶ learner ─▶ Predicted()
//              │            │                │
//            Lost()     Dropped()       destroyed: rejected
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "ingest/frame/frame_loss_observer.h"
#include "service/frames/frame_counts.h"
#include "service/frames/frame_labels.h"
#include "service/frames/prediction.h"

namespace millrace::service {

/// The outcome of one pushed frame. Of the four fields after the number, exactly one is set.
struct PushOutcome {
  /// The client's identifier.
  std::string id;
  std::optional<std::int64_t> frame_number = {};
  std::shared_ptr<const Prediction> prediction = {};
  std::optional<DropReason> dropped = {};
  /// The rate exceeded the maximum of frames per second.
  bool skipped = false;
  /// Why the picture is no frame.
  absl::Status refused = {};
  /// The outcome of its label, if it had one and was predicted.
  std::optional<absl::Status> label = {};
};

/// The first outcome counts. Destruction without an outcome means rejected. Only one thread at a
/// time may call it.
class PushedFrame final : public ingest::FrameLossObserver {
 public:
  using OnOutcome = std::function<void(PushOutcome)>;

  /// `on_outcome` is called once, on any thread, and must return quickly.
  PushedFrame(std::string id, std::optional<ClientLabel> label, OnOutcome on_outcome)
      : label_(std::move(label)), on_outcome_(std::move(on_outcome)) {
    outcome_.id = std::move(id);
  }
  ~PushedFrame() override { Dropped(DropReason::kRejected); }

  PushedFrame(const PushedFrame&) = delete;
  PushedFrame& operator=(const PushedFrame&) = delete;

  [[nodiscard]] const std::optional<ClientLabel>& label() const { return label_; }

  /// Sets its number in its stream.
  void Numbered(std::int64_t frame_number) { outcome_.frame_number = frame_number; }
  /// Sets the outcome of its label.
  void Labelled(absl::Status added) { outcome_.label = std::move(added); }

  void Predicted(std::shared_ptr<const Prediction> prediction);
  void Dropped(DropReason reason);
  void Lost(ingest::QueueLoss loss) override;
  void Skipped();
  void Refused(absl::Status why);

 private:
  void Notify();

  const std::optional<ClientLabel> label_;
  const OnOutcome on_outcome_;
  PushOutcome outcome_;
  bool notified_ = false;
};

/// The client's frame of `loss_observer`; null if the observer is not a client's.
[[nodiscard]] PushedFrame* PushedFrameOf(
    const std::shared_ptr<ingest::FrameLossObserver>& loss_observer);

}  // namespace millrace::service
