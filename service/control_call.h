// A unary call whose work takes seconds.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <exception>
#include <functional>
#include <stop_token>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "service/control_thread.h"
#include "service/error_reason.h"
#include "service/status.h"

namespace millrace::service {

/// Does its work on the control thread. A client that cancels, or whose deadline passes, asks the
/// work to stop. gRPC owns it until OnDone(), the control thread until its work is done.
class ControlCall final : public grpc::ServerUnaryReactor {
 public:
  /// Gives up with CANCELLED, having changed nothing, once the token says so.
  using Work = std::function<absl::Status(const std::stop_token& stop)>;

  /// The reactor of a call that does `work`.
  static grpc::ServerUnaryReactor* Begin(ControlThread& thread, Work work) {
    auto* const call = new ControlCall(std::move(work));
    if (!thread.Post([call] { call->Run(); })) {
      call->Finish(ToGrpcStatus(Because(
          "TOO_MANY_CHANGES", {},
          absl::UnavailableError("too many changes are waiting already; try again later"))));
    }
    return call;
  }

  void OnCancel() override { stop_.request_stop(); }
  void OnDone() override { delete this; }

 private:
  explicit ControlCall(Work work) : work_(std::move(work)) {}

  void Run() { Finish(ToGrpcStatus(Guarded())); }

  [[nodiscard]] absl::Status Guarded() {
    if (stop_.stop_requested()) return absl::CancelledError("the call was cancelled");
    try {
      return work_(stop_.get_token());
    } catch (const std::exception& error) {
      return absl::InternalError(absl::StrCat("this failed: ", error.what()));
    }
  }

  const Work work_;
  std::stop_source stop_;
};

}  // namespace millrace::service
