// Keeps what a network has learned in one small file: its parameters, as safetensors.h says, or as
// PyTorch's torch.save() writes a dict of tensors.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "pipeline/nn/layer.h"
#include "pipeline/tensor_files/named_tensors.h"

namespace millrace::pipeline {

/// The parameters by name, "features 1/2.0" and so on, in the order of the layers, sharing their
/// memory.
[[nodiscard]] NamedTensors ParametersOf(const LayerChain& network);

/// Writes the parameters of `network` to `path`, so that a reader finds the old file or the new
/// one, never a part: for torch.load() if the path ends in .pt. Fails with DATA_LOSS, writing
/// nothing, if a value is not finite, and with the system's error if the file cannot be written.
[[nodiscard]] absl::Status SaveWeights(const LayerChain& network, const std::string& path);

/// Reads the parameters of `network` from `path`, which SaveWeights() or torch.save() wrote.
/// Changes all of them or, on failure, none. Fails with NOT_FOUND if there is no such file,
/// DATA_LOSS if it is damaged, and FAILED_PRECONDITION if it holds the weights of another network
/// or was not made by this program.
[[nodiscard]] absl::Status LoadWeights(const std::string& path, LayerChain& network);

}  // namespace millrace::pipeline
