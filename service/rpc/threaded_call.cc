#include "service/rpc/threaded_call.h"

#include <utility>

#include "base/error_reason.h"
#include "service/rpc/caught.h"
#include "service/rpc/status.h"

namespace millrace::service {

grpc::ServerUnaryReactor* ThreadedCall::Begin(CallThread& thread, Work work) {
  auto* const call = new ThreadedCall(thread, std::move(work));
  if (const absl::Status posted = thread.Post(call, [call] { call->Run(); }); !posted.ok()) {
    call->Finish(ToGrpcStatus(posted));
  }
  return call;
}

ThreadedCall::ThreadedCall(CallThread& thread, Work work)
    : thread_(thread), work_(std::move(work)) {}

void ThreadedCall::OnCancel() {
  stop_.request_stop();
  if (thread_.TakeBack(this)) Finish(ToGrpcStatus(absl::CancelledError("the call was cancelled")));
}

void ThreadedCall::Run() { Finish(ToGrpcStatus(Guarded())); }

absl::Status ThreadedCall::Guarded() {
  if (stop_.stop_requested()) return absl::CancelledError("the call was cancelled");
  absl::Status done = Caught([this] { return work_(stop_.get_token()); });
  // Work stops early only for the client, whose call is cancelled, or for the server.
  return absl::IsCancelled(done) && !stop_.stop_requested() ? ServerStops() : done;
}

}  // namespace millrace::service
