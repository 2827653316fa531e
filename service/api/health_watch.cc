#include "service/api/health_watch.h"

#include <utility>

#include "base/check.h"
#include "service/rpc/parse.h"

namespace millrace::service {

using grpc::health::v1::HealthCheckResponse;

HealthCheckResponse::ServingStatus ServingStatusOf(const HealthStatuses& statuses,
                                                   std::string_view name) {
  const std::optional<bool> serving = statuses.Find(name);
  if (!serving) return HealthCheckResponse::SERVICE_UNKNOWN;
  return *serving ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
}

HealthWatch::HealthWatch(const HealthStatuses& statuses, Options options)
    : statuses_(statuses), options_(std::move(options)) {}

void HealthWatch::Pump() {
  switch (LeaveIdle()) {
    case State::kIdle:
      return;
    case State::kWriting:
      return StartWrite(&response_);
    case State::kFinishing:
      return Finish({grpc::StatusCode::UNAVAILABLE, "the server is stopping"});
  }
}

HealthWatch::State HealthWatch::LeaveIdle() {
  MutexLock lock(mu_);
  if (state_ != State::kIdle) return State::kIdle;
  const bool ending = options_.ending;  // Read first: if true, the status read next is final.
  const HealthCheckResponse::ServingStatus status = ServingStatusOf(statuses_, options_.name);
  if (told_ != status) {
    told_ = status;
    HealthCheckResponse response;
    response.set_status(status);
    MILLRACE_CHECK(Serialize(response, response_).ok());
    state_ = State::kWriting;
  } else if (ending) {
    state_ = State::kFinishing;
  }
  return state_;
}

void HealthWatch::OnWriteDone(bool ok) {
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

void HealthWatch::OnCancel() {
  {
    MutexLock lock(mu_);
    cancelled_ = true;
    if (state_ != State::kIdle) return;  // The write under way finishes the call.
    state_ = State::kFinishing;
  }
  Finish(grpc::Status::CANCELLED);
}

void HealthWatch::OnDone() {
  const std::function<void(HealthWatch&)> done = options_.done;
  done(*this);  // May destroy this.
}

}  // namespace millrace::service
