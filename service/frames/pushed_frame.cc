#include "service/frames/pushed_frame.h"

namespace millrace::service {

void PushedFrame::Predicted(std::shared_ptr<const Prediction> prediction) {
  if (notified_) return;
  outcome_.prediction = std::move(prediction);
  Notify();
}

void PushedFrame::Dropped(DropReason reason) {
  if (notified_) return;
  outcome_.dropped = reason;
  outcome_.label.reset();
  Notify();
}

void PushedFrame::Lost(ingest::QueueLoss loss) {
  Dropped(loss == ingest::QueueLoss::kFull ? DropReason::kQueueFull : DropReason::kShutdown);
}

void PushedFrame::Skipped() {
  if (notified_) return;
  outcome_.skipped = true;
  Notify();
}

void PushedFrame::Refused(absl::Status why) {
  if (notified_) return;
  outcome_.refused = std::move(why);
  Notify();
}

void PushedFrame::Notify() {
  notified_ = true;
  on_outcome_(std::move(outcome_));
}

PushedFrame* PushedFrameOf(const std::shared_ptr<ingest::FrameLossObserver>& loss_observer) {
  return dynamic_cast<PushedFrame*>(loss_observer.get());
}

}  // namespace millrace::service
