// Checks a pickle before LibTorch reads it.
//
// LibTorch trusts a pickle. It allocates the memory for a text of 4 GB, or for a memo of four
// billion values (64 GB), before it looks for them. It reads past its buffer for a name without an
// end. It frees nested values recursively, so a megabyte of nested values can overflow the stack.
#pragma once

#include <string_view>

#include "absl/status/status.h"

namespace millrace::pipeline {

/// Walks through the instructions without executing them. Fails with INVALID_ARGUMENT, in words
/// that follow the file's name, if an instruction has one of these faults.
/// - It needs bytes past the end, or a value that does not exist.
/// - It gives a value a number that is larger than any pickle of this size can need.
/// - It nests more than 1000 values.
/// - It adds to a value that other values contain already. This check excludes cycles.
///
/// Unknown instructions are accepted here, because LibTorch refuses them with a message.
/// Thread-safe.
[[nodiscard]] absl::Status CheckPickle(std::string_view pickle);

}  // namespace millrace::pipeline
