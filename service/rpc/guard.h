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
#include "service/rpc/self_deleting_reactor.h"

namespace millrace::service {

/// `Service`, a generated class `Service`, whose `Methods` take and return bytes. `Methods` are its
/// generated `WithRawCallbackMethod_...`.
template <typename Service, template <typename> class... Methods>
struct WithRawMethods {
  using Type = Service;
};
template <typename Service, template <typename> class Method, template <typename> class... Others>
struct WithRawMethods<Service, Method, Others...> {
  using Type = Method<typename WithRawMethods<Service, Others...>::Type>;
};

template <typename Service, template <typename> class... Methods>
using RawMethods = typename WithRawMethods<Service, Methods...>::Type;

/// A call with one response. gRPC owns all members for the duration of the call.
struct UnaryCall {
  grpc::CallbackServerContext* context;
  const grpc::ByteBuffer* request;
  grpc::ByteBuffer* response;
};

/// Serves a call if it is admitted and its request parses; otherwise ends it with the error. An
/// exception in a method is logged and becomes INTERNAL. The default limit of a request's size is
/// kMaxBytesOfNames. Thread-safe.
class Guard {
 public:
  using UnaryReactor = grpc::ServerUnaryReactor;
  using ServerStreamReactor = grpc::ServerWriteReactor<grpc::ByteBuffer>;
  using BidiReactor = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

  /// `service`: its full name, which must live forever. Borrows `admission`.
  Guard(std::string_view service, const Admission& admission)
      : service_(service), admission_(&admission) {}
  /// For a service without access control.
  explicit Guard(std::string_view service) : service_(service) {}

  /// Responds at once with the result of `answer(request)`, a StatusOr of the response.
  template <typename Request, typename Answer>
  UnaryReactor* Unary(const UnaryCall& call, std::string_view method, const Answer& answer) const {
    return Parsed<Request, UnaryReactor>(
        *call.context, method, *call.request,
        [&](const Request& request) -> absl::StatusOr<UnaryReactor*> {
          MILLRACE_ASSIGN_OR_RETURN(const auto response, answer(request));
          MILLRACE_RETURN_IF_ERROR(Serialize(response, *call.response));
          UnaryReactor* const reactor = call.context->DefaultReactor();
          reactor->Finish(grpc::Status::OK);
          return reactor;
        });
  }

  /// Responds after `work(request, stop)`, which returns a StatusOr of the response, on `thread`.
  /// The request is parsed there too, so that each thread parses at most one request at a time.
  /// `max_bytes`: the limit of the request's bytes. Fails as ThreadedCall does.
  template <typename Request, typename Work>
  UnaryReactor* UnaryOnThread(const UnaryCall& call, std::string_view method, CallThread& thread,
                              Work work, std::size_t max_bytes = kMaxBytesOfNames) const {
    return Admitted<UnaryReactor>(*call.context, method, [&]() -> absl::StatusOr<UnaryReactor*> {
      MILLRACE_RETURN_IF_ERROR(CheckSize<Request>(*call.request, max_bytes));
      return ThreadedCall::Begin(
          thread, [call, work = std::move(work)](const std::stop_token& stop) -> absl::Status {
            MILLRACE_ASSIGN_OR_RETURN(const Request request, Parse<Request>(*call.request));
            MILLRACE_RETURN_IF_ERROR(CheckMemory(request));
            MILLRACE_ASSIGN_OR_RETURN(const auto response, work(request, stop));
            return Serialize(response, *call.response);
          });
    });
  }

  /// Responds later, by the reactor from `begin(request)`, a StatusOr of a pointer.
  template <typename Request, typename Begin>
  UnaryReactor* UnaryLater(const UnaryCall& call, std::string_view method,
                           const Begin& begin) const {
    return Parsed<Request, UnaryReactor>(*call.context, method, *call.request, begin);
  }

  /// Streams responses by the reactor from `begin(request)`, a StatusOr of a pointer.
  template <typename Request, typename Begin>
  ServerStreamReactor* ServerStream(const grpc::CallbackServerContext& context,
                                    std::string_view method, const grpc::ByteBuffer& request,
                                    const Begin& begin) const {
    return Parsed<Request, ServerStreamReactor>(context, method, request, begin);
  }

  /// Serves the call by the reactor from `begin()`, a StatusOr of a pointer. The reactor reads and
  /// checks its own requests.
  template <typename Begin>
  BidiReactor* Bidi(const grpc::CallbackServerContext& context, std::string_view method,
                    const Begin& begin) const {
    return Admitted<BidiReactor>(context, method, begin);
  }

 private:
  template <typename Request, typename Reactor, typename Begin>
  Reactor* Parsed(const grpc::CallbackServerContext& context, std::string_view method,
                  const grpc::ByteBuffer& bytes, const Begin& begin) const {
    return Admitted<Reactor>(context, method, [&]() -> absl::StatusOr<Reactor*> {
      MILLRACE_RETURN_IF_ERROR(CheckSize<Request>(bytes, kMaxBytesOfNames));
      MILLRACE_ASSIGN_OR_RETURN(const Request request, Parse<Request>(bytes));
      return begin(request);
    });
  }

  template <typename Reactor, typename Begin>
  Reactor* Admitted(const grpc::CallbackServerContext& context, std::string_view method,
                    const Begin& begin) const {
    const absl::StatusOr<Reactor*> begun = Caught([&]() -> absl::StatusOr<Reactor*> {
      MILLRACE_RETURN_IF_ERROR(Admit(context, method));
      return begin();
    });
    return begun.ok() ? *begun : new RefusedCall<Reactor>(begun.status());
  }

  [[nodiscard]] absl::Status Admit(const grpc::CallbackServerContext& context,
                                   std::string_view method) const;

  const std::string_view service_;
  const Admission* const admission_ = nullptr;  // Null: admits every client.
};

}  // namespace millrace::service
