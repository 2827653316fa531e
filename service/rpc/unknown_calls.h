// Ends calls of unknown methods with UNIMPLEMENTED and an explanation.
//
// Triton has a service with the same name as the Open Inference Protocol's. Its clients call
// methods that the protocol lacks. For these methods, gRPC's own error has no text.
#pragma once

#include <grpcpp/generic/async_generic_service.h>

#include <string>
#include <string_view>

namespace millrace::service {

/// Why `method`, such as "inference.GRPCInferenceService/ModelConfig", does not exist, and which
/// method to call instead.
[[nodiscard]] std::string WhyUnknown(std::string_view method);

/// Serves all unknown methods. Its server must be shut down before its destruction. Thread-safe.
class UnknownCalls final : public grpc::CallbackGenericService {
 public:
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override;
};

}  // namespace millrace::service
