// What every method of every service asks before it serves a call.
//
//   bytes ─▶ may the caller? ─▶ not too many? ─▶ parse ─▶ the method
//
// gRPC hands over bytes, so that nothing is parsed for who is not admitted, and nothing that takes
// far more memory than such a request needs.
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

/// A call of one response. All is gRPC's, for as long as the call lasts.
struct UnaryCall {
  grpc::CallbackServerContext* context;
  const grpc::ByteBuffer* request;
  grpc::ByteBuffer* response;
};

/// Serves a call if it is admitted and its request is such a message, else ends it with why not.
/// What a method throws is logged, and INTERNAL for the client. Requests have at most
/// kMostBytesOfNames unless the method says otherwise. Thread-safe.
class Guard {
 public:
  using One = grpc::ServerUnaryReactor;
  using Many = grpc::ServerWriteReactor<grpc::ByteBuffer>;
  using Both = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

  /// `service`: its full name, which lives for ever. Borrows `admission`.
  Guard(std::string_view service, const Admission& admission)
      : service_(service), admission_(&admission) {}
  /// Of a service that is for everybody.
  explicit Guard(std::string_view service) : service_(service) {}

  /// Answers at once, with what `answer(request)` returns, a StatusOr of the response.
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

  /// Answers when `thread` has come to it, as BeginParsedCall(). `most`: of the request's bytes.
  template <typename Request, typename Work>
  One* Threaded(const UnaryCall& call, std::string_view method, CallThread& thread, Work work,
                std::size_t most = kMostBytesOfNames) const {
    return Admitted<One>(*call.context, method, [&]() -> absl::StatusOr<One*> {
      MILLRACE_RETURN_IF_ERROR(CheckSize<Request>(*call.request, most));
      return BeginParsedCall<Request>(thread, call.request, call.response, std::move(work));
    });
  }

  /// Is served by the Reactor that `begin(request)` makes, a StatusOr of a pointer.
  template <typename Request, typename Reactor, typename Begin>
  Reactor* Begun(const grpc::CallbackServerContext& context, std::string_view method,
                 const grpc::ByteBuffer& bytes, const Begin& begin) const {
    return Admitted<Reactor>(context, method, [&]() -> absl::StatusOr<Reactor*> {
      MILLRACE_RETURN_IF_ERROR(CheckSize<Request>(bytes, kMostBytesOfNames));
      MILLRACE_ASSIGN_OR_RETURN(const Request request, Parse<Request>(bytes));
      return begin(request);
    });
  }

  /// The same without a request: what reads its own checks them itself.
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
  const Admission* const admission_ = nullptr;  // Null: everybody is.
};

}  // namespace millrace::service
