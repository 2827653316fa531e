#include "ingest/source/listener_gate.h"

#include <utility>

#include "absl/cleanup/cleanup.h"

namespace millrace::ingest {

ListenerGate::ListenerGate(PipelineListener& listener) : listener_(listener) {}

bool ListenerGate::Enter() {
  const MutexLock lock(mu_);
  if (!closed_) ++inside_;
  return !closed_;
}

void ListenerGate::Leave() {
  const MutexLock lock(mu_);
  --inside_;
  left_.notify_all();
}

void ListenerGate::Close() {
  const MutexLock lock(mu_);
  closed_ = true;
  while (inside_ > 0) left_.wait(mu_);
}

template <typename Call>
void ListenerGate::Pass(Call call) {
  if (!Enter()) return;
  const absl::Cleanup leave = [this] { Leave(); };
  call();
}

void ListenerGate::OnFormat(const CameraFormat& format) {
  Pass([&] { listener_.OnFormat(format); });
}
void ListenerGate::OnPicture(DecodedPicture picture) {
  Pass([&] { listener_.OnPicture(std::move(picture)); });
}
void ListenerGate::OnWarning(const absl::Status& warning) {
  Pass([&] { listener_.OnWarning(warning); });
}
void ListenerGate::OnOutcome(absl::Status outcome) {
  Pass([&] { listener_.OnOutcome(std::move(outcome)); });
}

}  // namespace millrace::ingest
