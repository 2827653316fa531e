// Messages put together from bytes that others share.
//
// On the wire a message is the concatenation of its fields, and so of parts that hold some of them.
#pragma once

#include <grpcpp/support/slice.h>

#include <cstddef>

namespace millrace::service {

/// What comes before the `bytes` bytes of a field that is a message.
[[nodiscard]] grpc::Slice FieldHead(int number, std::size_t bytes);

}  // namespace millrace::service
