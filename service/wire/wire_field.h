// Assembles messages from shared bytes.
//
// A serialized message is the concatenation of its fields. So concatenated parts with different
// fields form one message.
#pragma once

#include <grpcpp/support/slice.h>

#include <cstddef>

namespace millrace::service {

/// The tag and length that precede a message field of `bytes` bytes.
[[nodiscard]] grpc::Slice FieldHead(int number, std::size_t bytes);

}  // namespace millrace::service
