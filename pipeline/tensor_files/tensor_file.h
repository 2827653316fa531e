// Files of named tensors, as Python's torch.save() writes a dict of them and torch.load() reads it.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/tensor_files/named_tensors.h"

namespace millrace::pipeline {

/// Reads the zip format that torch.save() has written since 1.6. Fails with NOT_FOUND if there is
/// no file, and INVALID_ARGUMENT if it is not such a file, was cut short, or holds no dict of
/// tensors by name.
[[nodiscard]] absl::StatusOr<NamedTensors> ReadTensors(const std::string& path);

/// The same of the bytes of such a file. `path` stands for it in messages.
[[nodiscard]] absl::StatusOr<NamedTensors> DecodeTensors(std::string bytes,
                                                         const std::string& path);

/// Writes a file that torch.load() reads, also with weights_only. Replaces `path` as a whole or not
/// at all.
[[nodiscard]] absl::Status WriteTensors(const std::string& path, const NamedTensors& tensors);

}  // namespace millrace::pipeline
