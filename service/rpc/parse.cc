#include "service/rpc/parse.h"

namespace millrace::service {

absl::Status Serialize(const google::protobuf::Message& message, grpc::ByteBuffer& bytes) {
  bytes.Clear();  // gRPC aborts the process if the buffer is not empty.
  bool own_buffer = false;
  const grpc::Status made =
      grpc::SerializationTraits<google::protobuf::Message>::Serialize(message, &bytes, &own_buffer);
  if (made.ok()) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("the response could not be written: ", made.error_message()));
}

}  // namespace millrace::service
