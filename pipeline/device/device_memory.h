// How much of a GPU's memory tensors take.
#pragma once

#include <optional>
#include <vector>

#include <c10/core/Device.h>

#include "pipeline/learner/learner_description.h"

namespace millrace::pipeline {

/// The most bytes that were in use at once since ResetMostInUse(), those of captured work included.
/// Nothing on the CPU. Thread-safe.
[[nodiscard]] std::optional<double> MostInUse(at::Device device);
void ResetMostInUse(at::Device device);

/// What the process has now of each GPU that the stages are on. Thread-safe.
[[nodiscard]] std::vector<GpuMemory> GpuMemoryOf(const LearnerDescription& learner);

}  // namespace millrace::pipeline
