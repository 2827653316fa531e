// Measures a GPU's memory for tensors.
#pragma once

#include <optional>
#include <vector>

#include <c10/core/Device.h>

#include "pipeline/learner/learner_description.h"

namespace millrace::pipeline {

/// The maximum number of bytes in use at once since ResetPeakBytes(), including captured work.
/// nullopt on the CPU. Thread-safe.
[[nodiscard]] std::optional<double> PeakBytes(at::Device device);
void ResetPeakBytes(at::Device device);

/// The process's current memory on each GPU of the learner's stages. Thread-safe.
[[nodiscard]] std::vector<GpuMemory> GpuMemoryOf(const LearnerDescription& learner);

}  // namespace millrace::pipeline
