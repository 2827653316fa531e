#include "service/subscription.h"

#include "service/subscribers.h"

namespace millrace::service {

Subscription::Subscription(PredictionRing& ring, Options options, SubscriberCounters& counters,
                           Subscribers& subscribers)
    : options_(options),
      ring_(ring),
      counters_(counters),
      subscribers_(subscribers),
      cursor_(ring.Begin()) {
  ++counters_.active;
}

void Subscription::Pump() {
  bool finish = false;
  const PredictionRing::ReadResult next = LeaveIdle(finish);
  if (next.prediction != nullptr) {
    Write(next);
  } else if (finish) {
    Finish(grpc::Status::OK);
  }
}

PredictionRing::ReadResult Subscription::LeaveIdle(bool& finish) {
  MutexLock lock(mu_);
  if (state_ != State::kIdle) return {};
  // Asked before the read: what is not there afterwards will never be.
  const bool closed = ring_.closed();
  PredictionRing::ReadResult next = ring_.Read(cursor_, options_.policy);
  finish = closed && next.prediction == nullptr;
  if (next.prediction != nullptr) state_ = State::kWriting;
  if (finish) state_ = State::kFinishing;
  return next;
}

void Subscription::Write(const PredictionRing::ReadResult& next) {
  dropped_total_ += next.missed;
  counters_.dropped += next.missed;
  response_.Clear();
  ToMessage(*next.prediction, options_.carried, *response_.mutable_prediction());
  response_.set_dropped(next.missed);
  response_.set_dropped_total(dropped_total_);
  StartWrite(&response_);
}

void Subscription::OnWriteDone(bool ok) {
  if (ok) ++counters_.sent;
  OnOperationDone(ok);
}

void Subscription::OnOperationDone(bool ok) {
  bool finish = false;
  {
    MutexLock lock(mu_);
    finish = !ok || cancelled_;
    state_ = finish ? State::kFinishing : State::kIdle;
  }
  if (finish) {
    Finish(grpc::Status::CANCELLED);
  } else {
    Pump();
  }
}

void Subscription::OnCancel() {
  {
    MutexLock lock(mu_);
    cancelled_ = true;
    if (state_ != State::kIdle) return;  // The end of the operation under way finishes the call.
    state_ = State::kFinishing;
  }
  Finish(grpc::Status::CANCELLED);
}

void Subscription::OnDone() {
  --counters_.active;
  subscribers_.Remove(*this);  // May destroy this.
}

}  // namespace millrace::service
