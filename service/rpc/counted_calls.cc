#include "service/rpc/counted_calls.h"

#include <google/protobuf/descriptor.h>
#include <grpcpp/support/server_interceptor.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/clock.h"

namespace millrace::service {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::Interceptor;
using grpc::experimental::InterceptorBatchMethods;
using grpc::experimental::ServerInterceptorFactoryInterface;
using grpc::experimental::ServerRpcInfo;

/// Observes one call.
class CountedCall final : public Interceptor {
 public:
  CountedCall(std::string_view method, bool one_answer, CallCounts& counts)
      : method_(method), one_answer_(one_answer), counts_(counts) {}

  void Intercept(InterceptorBatchMethods* batch) override {
    if (batch->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      counts_.Add(method_, batch->GetSendStatus().error_code());
      if (one_answer_) counts_.AddDuration(MonotonicClock().Now() - begin_);
    }
    batch->Proceed();
  }

 private:
  const std::string method_;
  const bool one_answer_;  ///< The client decides how long a stream of responses takes.
  const std::chrono::nanoseconds begin_ = MonotonicClock().Now();
  CallCounts& counts_;
};

class CountedCalls final : public ServerInterceptorFactoryInterface {
 public:
  explicit CountedCalls(CallCounts& counts) : counts_(counts) {}

  /// Null for calls of other services: health checks, reflection.
  Interceptor* CreateServerInterceptor(ServerRpcInfo* info) override {
    std::string_view method = info->method();
    if (method.starts_with('/')) method.remove_prefix(1);
    if (!counts_.Expects(method)) return nullptr;
    const bool one_answer = info->type() == ServerRpcInfo::Type::UNARY;
    return new CountedCall(method, one_answer, counts_);  // gRPC owns it.
  }

 private:
  CallCounts& counts_;
};

std::vector<std::string> MethodsOf(const std::vector<std::string>& services) {
  std::vector<std::string> methods;
  for (const std::string& name : services) {
    const auto* const service =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(name);
    MILLRACE_CHECK(service != nullptr);
    for (int i = 0; i < service->method_count(); ++i) {
      methods.push_back(absl::StrCat(name, "/", service->method(i)->name()));
    }
  }
  return methods;
}

}  // namespace

void CountCalls(const std::vector<std::string>& services, CallCounts& counts,
                grpc::ServerBuilder& builder) {
  counts.Expect(MethodsOf(services));
  std::vector<std::unique_ptr<ServerInterceptorFactoryInterface>> factories;
  factories.push_back(std::make_unique<CountedCalls>(counts));
  builder.experimental().SetInterceptorCreators(std::move(factories));
}

}  // namespace millrace::service
