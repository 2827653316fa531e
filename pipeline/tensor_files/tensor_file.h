// Files of named tensors, as Python's torch.save() writes a dict of them and torch.load() reads it.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/tensor_files/named_tensors.h"

namespace millrace::pipeline {

/// Reads the zip format of torch.save(), PyTorch 1.6 or later. Fails with NOT_FOUND if the file
/// does not exist. Fails with INVALID_ARGUMENT if it has another format, was cut short, or does not
/// hold a dict of tensors by name.
[[nodiscard]] absl::StatusOr<NamedTensors> ReadTensors(const std::string& path);

/// The same for the bytes of such a file. Messages use `path` as its name.
[[nodiscard]] absl::StatusOr<NamedTensors> DecodeTensors(std::string bytes,
                                                         const std::string& path);

/// Writes a file that torch.load() reads, also with weights_only. Replaces `path` atomically.
[[nodiscard]] absl::Status WriteTensors(const std::string& path, const NamedTensors& tensors);

}  // namespace millrace::pipeline
