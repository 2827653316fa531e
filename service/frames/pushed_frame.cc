#include "service/frames/pushed_frame.h"

namespace millrace::service {

void PushedFrame::Predicted(std::shared_ptr<const Prediction> prediction) {
  if (is_told_) return;
  outcome_.prediction = std::move(prediction);
  Tell();
}

void PushedFrame::Dropped(DropReason reason) {
  if (is_told_) return;
  outcome_.dropped = reason;
  outcome_.label.reset();
  Tell();
}

void PushedFrame::Lost(ingest::QueueLoss loss) {
  Dropped(loss == ingest::QueueLoss::kFull ? DropReason::kQueueFull : DropReason::kShutdown);
}

void PushedFrame::Skipped() {
  if (is_told_) return;
  outcome_.skipped = true;
  Tell();
}

void PushedFrame::Refused(absl::Status why) {
  if (is_told_) return;
  outcome_.refused = std::move(why);
  Tell();
}

void PushedFrame::Tell() {
  is_told_ = true;
  told_(std::move(outcome_));
}

PushedFrame* PushedFrameOf(const std::shared_ptr<ingest::FrameLossObserver>& loss_observer) {
  return dynamic_cast<PushedFrame*>(loss_observer.get());
}

}  // namespace millrace::service
