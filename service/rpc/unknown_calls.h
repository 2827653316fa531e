// Calls of methods that this server does not have: each ends with UNIMPLEMENTED, in words.
//
// The Open Inference Protocol's service has the same name in Triton, whose clients call methods of
// it that the protocol does not have. gRPC's own answer to them is an error without a word.
#pragma once

#include <grpcpp/generic/async_generic_service.h>

#include <string>
#include <string_view>

namespace millrace::service {

/// Why there is no `method`, as "inference.GRPCInferenceService/ModelConfig", and what to call
/// instead.
[[nodiscard]] std::string WhyUnknown(std::string_view method);

/// To be registered with a server, which must be shut down before it is destroyed. Thread-safe.
class UnknownCalls final : public grpc::CallbackGenericService {
 public:
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override;
};

}  // namespace millrace::service
