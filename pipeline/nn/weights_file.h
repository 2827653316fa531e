// Stores a network's parameters in one small file: in the format of safetensors.h, or as PyTorch's
// torch.save() writes a dict of tensors.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "pipeline/nn/layer.h"
#include "pipeline/tensor_files/named_tensors.h"

namespace millrace::pipeline {

/// The parameters by name ("features 1/2.0"), in the order of the layers, sharing their memory.
[[nodiscard]] NamedTensors ParametersOf(const LayerChain& network);

/// Writes the parameters of `network` to `path` atomically: a reader finds the old file or the new
/// one. Writes torch.load()'s format if the path ends in .pt. Fails with DATA_LOSS, writing
/// nothing, if a value is not finite. Fails with the system's error if the file cannot be written.
[[nodiscard]] absl::Status SaveWeights(const LayerChain& network, const std::string& path);

/// Reads the parameters of `network` from `path`, which SaveWeights() or torch.save() wrote.
/// Changes all of them or, on failure, no parameter. Fails with NOT_FOUND if the file does not
/// exist, and DATA_LOSS if it is damaged. Fails with FAILED_PRECONDITION if it belongs to another
/// network, or this program did not write it.
[[nodiscard]] absl::Status LoadWeights(const std::string& path, LayerChain& network);

}  // namespace millrace::pipeline
