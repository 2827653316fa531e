// What every method of every service asks before it serves a call.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <string_view>

#include "service/admission.h"
#include "service/refusal.h"

namespace millrace::service {

/// Serves a call if it is admitted, else ends it with why not. Thread-safe. Borrows `admission`.
class Guard {
 public:
  /// `service`: its full name, which lives for ever.
  Guard(std::string_view service, const Admission& admission)
      : service_(service), admission_(admission) {}

  /// `serve` answers a call with one response.
  template <typename Serve>
  grpc::ServerUnaryReactor* One(grpc::CallbackServerContext& context, std::string_view method,
                                Serve serve) const {
    const absl::Status admitted = Admit(context, method);
    return admitted.ok() ? serve() : EndCall(context, admitted);
  }

  /// `serve` answers a call with a stream of `Response`s.
  template <typename Response, typename Serve>
  grpc::ServerWriteReactor<Response>* Many(grpc::CallbackServerContext& context,
                                           std::string_view method, Serve serve) const {
    const absl::Status admitted = Admit(context, method);
    if (!admitted.ok()) return new RefusedStream<Response>(admitted);
    return serve();
  }

  /// `serve` answers a stream of `Request`s with one of `Response`s.
  template <typename Request, typename Response, typename Serve>
  grpc::ServerBidiReactor<Request, Response>* Both(grpc::CallbackServerContext& context,
                                                   std::string_view method, Serve serve) const {
    const absl::Status admitted = Admit(context, method);
    if (!admitted.ok()) return new RefusedExchange<Request, Response>(admitted);
    return serve();
  }

 private:
  [[nodiscard]] absl::Status Admit(const grpc::CallbackServerContext& context,
                                   std::string_view method) const;

  const std::string_view service_;
  const Admission& admission_;
};

}  // namespace millrace::service
