// How much of a GPU's memory tensors take.
#pragma once

#include <optional>

#include <c10/core/Device.h>

namespace millrace::pipeline {

/// The most bytes that were in use at once since ResetMostInUse(), those of captured work included.
/// Nothing on the CPU. Thread-safe.
[[nodiscard]] std::optional<double> MostInUse(at::Device device);
void ResetMostInUse(at::Device device);

}  // namespace millrace::pipeline
