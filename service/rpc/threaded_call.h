// A unary call whose work takes seconds.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <functional>
#include <stop_token>

#include "absl/status/status.h"
#include "service/rpc/call_thread.h"
#include "service/rpc/own_reactor.h"

namespace millrace::service {

/// Does its work on a CallThread. A client that cancels, or whose deadline passes, takes the work
/// back where it waits, and else asks it to stop. The thread, too, holds the call until its work is
/// done.
class ThreadedCall final : public OwnReactor<grpc::ServerUnaryReactor> {
 public:
  /// Gives up with CANCELLED, having changed nothing, once the token says so, or once the server
  /// stops, which is UNAVAILABLE, SERVER_STOPS, for the client. What it throws is logged, and
  /// INTERNAL for the client.
  using Work = std::function<absl::Status(const std::stop_token& stop)>;

  /// The reactor of a call that does `work`. It fails as CallThread::Post().
  static grpc::ServerUnaryReactor* Begin(CallThread& thread, Work work);

  void OnCancel() override;

 private:
  ThreadedCall(CallThread& thread, Work work);

  void Run();
  [[nodiscard]] absl::Status Guarded();

  CallThread& thread_;
  const Work work_;
  std::stop_source stop_;
};

}  // namespace millrace::service
