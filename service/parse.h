// Requests that reach a method as bytes.
//
// What gRPC parses it parses before the method is called: before anybody has asked who calls, and
// as many at once as there are calls. Messages of many small parts take thirty times their bytes.
#pragma once

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <cstddef>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace millrace::service {

/// What the bytes of a request that only names things may be: parsed, it takes no more than 2 MiB.
inline constexpr std::size_t kMostBytesOfNames = 64 << 10;

/// INVALID_ARGUMENT if `bytes` are none of these messages, or more than `most`.
template <typename Message>
absl::StatusOr<Message> Parse(const grpc::ByteBuffer& bytes,
                              std::size_t most = std::numeric_limits<std::size_t>::max()) {
  const std::string& name = Message::descriptor()->name();
  if (bytes.Length() > most) {
    return absl::InvalidArgumentError(
        absl::StrCat("this ", name, " has ", bytes.Length(), " bytes; it may have ", most));
  }
  grpc::ByteBuffer read = bytes;  // Reading empties a buffer.
  Message message;
  if (grpc::SerializationTraits<Message>::Deserialize(&read, &message).ok()) return message;
  return absl::InvalidArgumentError(absl::StrCat("this is no ", name));
}

}  // namespace millrace::service
