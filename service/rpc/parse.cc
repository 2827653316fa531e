#include "service/rpc/parse.h"

#include <string>

#include "base/error_reason.h"

namespace millrace::service {
namespace {

/// The first list of a request. Only a list can take that much memory.
std::string ListOf(const google::protobuf::Message& request) {
  const auto& type = *request.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    if (type.field(i)->is_repeated() && !type.field(i)->is_map()) return type.field(i)->name();
  }
  return type.name();
}

}  // namespace

absl::Status CheckMemory(const google::protobuf::Message& request) {
  constexpr std::size_t kMax = 64 << 20;
  const std::size_t takes = request.SpaceUsedLong();
  if (takes <= kMax) return absl::OkStatus();
  return InvalidFields(
      {{ListOf(request),
        absl::StrCat("has the request take ", takes >> 20, " MiB of memory, of at most ",
                     kMax >> 20, ": send fewer parts, and pixels as bytes")}});
}

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
