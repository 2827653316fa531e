// A unary call whose work takes seconds.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <functional>
#include <stop_token>

#include "absl/status/status.h"
#include "service/rpc/call_thread.h"
#include "service/rpc/own_reactor.h"

namespace millrace::service {

/// Runs its work on a CallThread. If the client cancels or its deadline passes, waiting work is
/// removed, and running work is asked to stop. The thread shares ownership of the call until its
/// work is done.
class ThreadedCall final : public OwnReactor<grpc::ServerUnaryReactor> {
 public:
  /// Returns CANCELLED, without any change, once the token is stopped or the server stops. In the
  /// second case the client gets UNAVAILABLE (SERVER_STOPS). An exception is logged and becomes
  /// INTERNAL for the client.
  using Work = std::function<absl::Status(const std::stop_token& stop)>;

  /// The reactor of a call that runs `work`. Fails as CallThread::Post() does.
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
