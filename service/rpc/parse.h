// Requests that reach a method as bytes, and responses that leave it as such.
//
// What gRPC parses it parses before the method is called: before anybody has asked who calls, and
// as many at once as there are calls. Messages of many small parts take thirty times their bytes.
#pragma once

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <cstddef>
#include <limits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/message.h"

namespace millrace::service {

/// What the bytes of a request that only names things may be: parsed, it takes no more than 2 MiB.
inline constexpr std::size_t kMostBytesOfNames = 64 << 10;
/// Of one with the configuration of a stream.
inline constexpr std::size_t kMostBytesOfConfig = 1 << 20;
/// Of one with pictures, or with labels: as many as the server receives.
inline constexpr std::size_t kMostBytesOfParts = std::numeric_limits<std::size_t>::max();

/// INVALID_ARGUMENT if `bytes`, which should be a Message, are more than `most`.
template <typename Message>
absl::Status CheckSize(const grpc::ByteBuffer& bytes, std::size_t most) {
  if (bytes.Length() <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("this ", Message::descriptor()->name(), " has ",
                                                 bytes.Length(), " bytes; it may have ", most));
}

/// INVALID_ARGUMENT if `bytes` are no Message.
template <typename Message>
absl::StatusOr<Message> Parse(const grpc::ByteBuffer& bytes) {
  grpc::ByteBuffer read = bytes;  // Reading empties a buffer.
  Message message;
  if (grpc::SerializationTraits<Message>::Deserialize(&read, &message).ok()) return message;
  return absl::InvalidArgumentError(absl::StrCat("this is no ", Message::descriptor()->name()));
}

/// The bytes of `message`, whatever `bytes` were before. INTERNAL if gRPC has no room for them.
[[nodiscard]] absl::Status Serialize(const google::protobuf::Message& message,
                                     grpc::ByteBuffer& bytes);

}  // namespace millrace::service
