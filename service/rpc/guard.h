// The checks before each method of each service.
//
//   bytes ─▶ authorized? ─▶ not too large? ─▶ parse ─▶ the method
//
// Methods receive bytes from gRPC. So the server parses no request of an unauthorized client, and
// no request that needs far more memory than the method's requests do.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <cstddef>
#include <stop_token>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status.h"
#include "service/access/admission.h"
#include "service/rpc/call_thread.h"
#include "service/rpc/caught.h"
#include "service/rpc/parse.h"
#include "service/rpc/parsed_call.h"
#include "service/rpc/refusal.h"

namespace millrace::service {

/// A call with one response. gRPC owns all members for the duration of the call.
struct UnaryCall {
  grpc::CallbackServerContext* context;
  const grpc::ByteBuffer* request;
  grpc::ByteBuffer* response;
};

/// Serves a call if it is admitted and its request parses; otherwise ends it with the error. An
/// exception in a method is logged and becomes INTERNAL. The default limit of a request's size is
/// kMostBytesOfNames. Thread-safe.
class Guard {
 public:
  using One = grpc::ServerUnaryReactor;
  using Many = grpc::ServerWriteReactor<grpc::ByteBuffer>;
  using Both = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

  /// `service`: its full name, which must live forever. Borrows `admission`.
  Guard(std::string_view service, const Admission& admission)
      : service_(service), admission_(&admission) {}
  /// For a service without access control.
  explicit Guard(std::string_view service) : service_(service) {}

  /// Responds at once with the result of `answer(request)`, a StatusOr of the response.
  template <typename Request, typename Answer>
  One* Answered(const UnaryCall& call, std::string_view method, const Answer& answer) const {
    return Begun<Request, One>(*call.context, method, *call.request,
                               [&](const Request& request) -> absl::StatusOr<One*> {
                                 MILLRACE_ASSIGN_OR_RETURN(const auto response, answer(request));
                                 MILLRACE_RETURN_IF_ERROR(Serialize(response, *call.response));
                                 One* const reactor = call.context->DefaultReactor();
                                 reactor->Finish(grpc::Status::OK);
                                 return reactor;
                               });
  }

  /// Responds after work on `thread`, like BeginParsedCall(). `most`: the limit of the request's
  /// bytes.
  template <typename Request, typename Work>
  One* Threaded(const UnaryCall& call, std::string_view method, CallThread& thread, Work work,
                std::size_t most = kMostBytesOfNames) const {
    return Admitted<One>(*call.context, method, [&]() -> absl::StatusOr<One*> {
      MILLRACE_RETURN_IF_ERROR(CheckSize<Request>(*call.request, most));
      return BeginParsedCall<Request>(thread, call.request, call.response, std::move(work));
    });
  }

  /// Serves the call with the Reactor from `begin(request)`, a StatusOr of a pointer.
  template <typename Request, typename Reactor, typename Begin>
  Reactor* Begun(const grpc::CallbackServerContext& context, std::string_view method,
                 const grpc::ByteBuffer& bytes, const Begin& begin) const {
    return Admitted<Reactor>(context, method, [&]() -> absl::StatusOr<Reactor*> {
      MILLRACE_RETURN_IF_ERROR(CheckSize<Request>(bytes, kMostBytesOfNames));
      MILLRACE_ASSIGN_OR_RETURN(const Request request, Parse<Request>(bytes));
      return begin(request);
    });
  }

  /// Like Begun(), without a request: for reactors that read and check their own requests.
  template <typename Reactor, typename Begin>
  Reactor* Admitted(const grpc::CallbackServerContext& context, std::string_view method,
                    const Begin& begin) const {
    const absl::StatusOr<Reactor*> begun = Caught([&]() -> absl::StatusOr<Reactor*> {
      MILLRACE_RETURN_IF_ERROR(Admit(context, method));
      return begin();
    });
    return begun.ok() ? *begun : new RefusedCall<Reactor>(begun.status());
  }

 private:
  [[nodiscard]] absl::Status Admit(const grpc::CallbackServerContext& context,
                                   std::string_view method) const;

  const std::string_view service_;
  const Admission* const admission_ = nullptr;  // Null: admits every client.
};

}  // namespace millrace::service
