// Parses requests from bytes, and serializes responses to bytes.
//
// If gRPC parsed requests itself, it would do so before any access check and for every call at
// once. A message of many small parts needs thirty times its bytes in memory.
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

/// The size limit of a request with names only. Parsed, it needs at most 2 MiB.
inline constexpr std::size_t kMaxBytesOfNames = 64 << 10;
/// The size limit of a request with a stream's configuration.
inline constexpr std::size_t kMaxBytesOfConfig = 1 << 20;
/// A request with pictures or labels: limited only by the size that the server receives.
inline constexpr std::size_t kMaxBytesOfParts = std::numeric_limits<std::size_t>::max();

/// INVALID_ARGUMENT if `bytes`, a serialized Message, exceed `max_bytes`.
template <typename Message>
absl::Status CheckSize(const grpc::ByteBuffer& bytes, std::size_t max_bytes) {
  if (bytes.Length() <= max_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("this ", Message::descriptor()->name(), " has ",
                                                 bytes.Length(), " bytes; it may have ",
                                                 max_bytes));
}

/// INVALID_ARGUMENT if `bytes` are not a valid Message.
template <typename Message>
absl::StatusOr<Message> Parse(const grpc::ByteBuffer& bytes) {
  grpc::ByteBuffer read = bytes;  // Parsing consumes a buffer.
  Message message;
  if (grpc::SerializationTraits<Message>::Deserialize(&read, &message).ok()) return message;
  return absl::InvalidArgumentError(absl::StrCat("this is no ", Message::descriptor()->name()));
}

/// INVALID_ARGUMENT if a parsed request takes more memory than allowed.
[[nodiscard]] absl::Status CheckMemory(const google::protobuf::Message& request);

/// Serializes `message` into `bytes`, replacing its contents. INTERNAL if gRPC cannot hold the
/// message.
[[nodiscard]] absl::Status Serialize(const google::protobuf::Message& message,
                                     grpc::ByteBuffer& bytes);

}  // namespace millrace::service
