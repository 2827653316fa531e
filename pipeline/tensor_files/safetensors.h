// Encodes tensors and some metadata as bytes, for weight files and checkpoints.
//
// The format is safetensors (https://github.com/huggingface/safetensors), which common tools can
// read. A length comes first, then a JSON header with each tensor's name, shape and position, then
// the data. Our header also has a checksum of the data and of the header itself, because damaged
// bytes must never become weights.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "pipeline/tensor_files/named_tensors.h"

namespace millrace::pipeline {

struct SafeTensors {
  NamedTensors tensors;
  std::map<std::string, std::string> metadata;
};

/// REQUIRES: the tensors are on the CPU, of float, double, int64 or bytes, and their names differ;
/// no metadata is called "checksum".
[[nodiscard]] std::string EncodeSafeTensors(const SafeTensors& content);

/// Decodes the output of EncodeSafeTensors(), with the tensors in the order of their bytes. Fails
/// with DATA_LOSS if it is damaged and FAILED_PRECONDITION if this program did not write it. The
/// message calls the file "it"; the caller adds the file's name.
[[nodiscard]] absl::StatusOr<SafeTensors> DecodeSafeTensors(std::string_view bytes);

}  // namespace millrace::pipeline
