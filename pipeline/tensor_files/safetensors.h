// Tensors and a few words about them as bytes: what weight files and checkpoints are made of.
//
// The format is safetensors (https://github.com/huggingface/safetensors), so that any tool of the
// field can look into it: a length, a header in JSON that names every tensor with its shape and
// place, then their bytes. Our header also carries a checksum of these and of the rest of itself,
// since damaged bytes must never become weights.
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

/// REQUIRES: the tensors are on the CPU, of float, double, int64 or bytes; names differ; no
/// metadata is called "checksum".
[[nodiscard]] std::string EncodeSafeTensors(const SafeTensors& content);

/// What EncodeSafeTensors() made, the tensors in the order of their bytes. Fails with DATA_LOSS if
/// it is damaged and FAILED_PRECONDITION if it was not made by this program. The message says what
/// is wrong with "it", for the caller to put the file's name before.
[[nodiscard]] absl::StatusOr<SafeTensors> DecodeSafeTensors(std::string_view bytes);

}  // namespace millrace::pipeline
