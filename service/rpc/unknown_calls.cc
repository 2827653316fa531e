#include "service/rpc/unknown_calls.h"

#include <array>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "service/rpc/self_deleting_reactor.h"

namespace millrace::service {
namespace {

constexpr std::string_view kInference = "inference.GRPCInferenceService/";

struct Instead {
  /// The beginning of the method's name, after kInference.
  std::string_view method;
  std::string_view advice;
};

constexpr std::array<Instead, 6> kInsteads = {{
    {"ModelConfig",
     "a model here is a camera stream: ModelMetadata has its tensors, and "
     "millrace.v1.StreamService/GetStream its configuration"},
    {"ModelStatistics",
     "the counts, rates and delays of a stream are those of "
     "millrace.v1.StreamService/GetStream, and of /metrics"},
    {"RepositoryIndex",
     "there is no repository of models: millrace.v1.StreamService/ListStreams has the camera "
     "streams; each is a model of that name"},
    {"RepositoryModel",
     "there is no repository of models: millrace.v1.StreamService/CreateStream and DeleteStream "
     "add and remove camera streams"},
    {"SystemSharedMemory", "there is no shared memory: send the pictures in the request"},
    {"CudaSharedMemory", "there is no shared memory: send the pictures in the request"},
}};

std::string_view AdviceFor(std::string_view method) {
  if (!method.starts_with(kInference)) return "reflection lists the methods that there are";
  method.remove_prefix(kInference.size());
  for (const Instead& instead : kInsteads) {
    if (method.starts_with(instead.method)) return instead.advice;
  }
  return "Millrace has the methods of the Open Inference Protocol and ModelStreamInfer alone";
}

}  // namespace

std::string WhyUnknown(std::string_view method) {
  return absl::StrCat("there is no method ", std::string(method.substr(0, 200)), "; ",
                      std::string(AdviceFor(method)));
}

grpc::ServerGenericBidiReactor* UnknownCalls::CreateReactor(
    grpc::GenericCallbackServerContext* context) {
  std::string_view method = context->method();
  if (method.starts_with('/')) method.remove_prefix(1);
  return new RefusedCall<grpc::ServerGenericBidiReactor>(
      absl::UnimplementedError(WhyUnknown(method)));
}

}  // namespace millrace::service
