// A unary call whose work takes seconds.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <functional>
#include <stop_token>

#include "absl/status/status.h"
#include "service/control_thread.h"
#include "service/own_reactor.h"

namespace millrace::service {

/// Does its work on the control thread. A client that cancels, or whose deadline passes, asks the
/// work to stop. The control thread, too, holds it until its work is done.
class ControlCall final : public OwnReactor<grpc::ServerUnaryReactor> {
 public:
  /// Gives up with CANCELLED, having changed nothing, once the token says so. What it throws is
  /// logged, and INTERNAL for the client.
  using Work = std::function<absl::Status(const std::stop_token& stop)>;

  /// The reactor of a call that does `work`. It fails with UNAVAILABLE, TOO_MANY_CHANGES, where too
  /// many wait already.
  static grpc::ServerUnaryReactor* Begin(ControlThread& thread, Work work);

  void OnCancel() override { stop_.request_stop(); }

 private:
  explicit ControlCall(Work work);

  void Run();
  [[nodiscard]] absl::Status Guarded();

  const Work work_;
  std::stop_source stop_;
};

}  // namespace millrace::service
