// A frame that a client pushed, from when it comes to when its outcome is told: exactly one.
//
//   client ─▶ queue ─▶ learner's thread ─▶ learner ─▶ Predicted()
//              │            │                │
//            Lost()     Dropped()       let go of: rejected
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "ingest/frame/frame_ticket.h"
#include "service/frames/accounting.h"
#include "service/frames/frame_labels.h"
#include "service/frames/prediction.h"

namespace millrace::service {

/// What became of one pushed frame. Of the four that come after the number, one is set.
struct PushOutcome {
  /// As the client calls it.
  std::string id;
  std::optional<std::int64_t> frame_number = {};
  std::shared_ptr<const Prediction> prediction = {};
  std::optional<DropReason> dropped = {};
  /// There are more frames a second than there may be.
  bool skipped = false;
  /// Why it was no frame.
  absl::Status refused = {};
  /// Of its label, where it had one and was predicted.
  std::optional<absl::Status> label = {};
};

/// The first outcome counts; one that is destroyed without has been rejected. Told by one thread at
/// a time.
class PushedFrame final : public ingest::FrameTicket {
 public:
  using Told = std::function<void(PushOutcome)>;

  /// `told` is called once, from whatever thread, and must be quick.
  PushedFrame(std::string id, std::optional<ClientLabel> label, Told told)
      : label_(std::move(label)), told_(std::move(told)) {
    outcome_.id = std::move(id);
  }
  ~PushedFrame() override { Dropped(DropReason::kRejected); }

  PushedFrame(const PushedFrame&) = delete;
  PushedFrame& operator=(const PushedFrame&) = delete;

  [[nodiscard]] const std::optional<ClientLabel>& label() const { return label_; }

  /// The number that it has in its stream.
  void Numbered(std::int64_t frame_number) { outcome_.frame_number = frame_number; }
  /// What became of its label.
  void Labelled(absl::Status added) { outcome_.label = std::move(added); }

  void Predicted(std::shared_ptr<const Prediction> prediction);
  void Dropped(DropReason reason);
  void Lost(ingest::QueueLoss loss) override;
  void Skipped();
  void Refused(absl::Status why);

 private:
  void Tell();

  const std::optional<ClientLabel> label_;
  const Told told_;
  PushOutcome outcome_;
  bool is_told_ = false;
};

/// The client's, if `ticket` is of one; null where nobody waits.
[[nodiscard]] PushedFrame* PushedFrameOf(const std::shared_ptr<ingest::FrameTicket>& ticket);

}  // namespace millrace::service
