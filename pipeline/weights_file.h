// Keeps what a network has learned in one small file: its parameters, as safetensors.h says.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "pipeline/layer.h"

namespace millrace::pipeline {

/// Writes the parameters of `network` to `path`, so that a reader finds the old file or the new
/// one, never a part. Fails with DATA_LOSS, writing nothing, if a value is not finite, and with the
/// system's error if the file cannot be written.
[[nodiscard]] absl::Status SaveWeights(const LayerChain& network, const std::string& path);

/// Reads the parameters of `network` from `path`. Changes all of them or, on failure, none. Fails
/// with NOT_FOUND if there is no such file, DATA_LOSS if it is damaged, and FAILED_PRECONDITION if
/// it holds the weights of another network or was not made by this program.
[[nodiscard]] absl::Status LoadWeights(const std::string& path, LayerChain& network);

}  // namespace millrace::pipeline
