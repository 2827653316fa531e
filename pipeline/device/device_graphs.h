// GPU work that is captured once and launched many times, each time at the cost of one launch.
//
// The module that captures is not linked. It is loaded with LibTorch's part for CUDA
// (cuda_libraries.h).
#pragma once

#include <memory>

#include <c10/core/Device.h>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace millrace::pipeline {

/// Captured work. It reads the same memory as in the capture, with the current values.
class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;
  /// Launches the work into the current stream of the calling thread.
  virtual void Launch() = 0;
};

/// Memory that several graphs share: a graph reuses memory that an earlier one has freed. So the
/// graphs of a pool must be launched one after the other, in one stream. A tensor that was made in
/// a capture and is still held keeps its memory. But it may lie where an earlier graph had its
/// temporary values. Then its value ends when that graph is launched again.
class GraphPool {
 public:
  virtual ~GraphPool() = default;
  /// Captures the work that `work` puts into the current stream, without executing it. Throws
  /// exceptions of `work`, and the GPU's error if the work cannot be captured, such as a wait on
  /// the host. The stream is then in its former state. Thread-safe; one capture at a time.
  /// REQUIRES: the current stream is not the default one.
  [[nodiscard]] virtual std::unique_ptr<DeviceGraph> Capture(absl::FunctionRef<void()> work) = 0;
};

using MakeGraphPool = GraphPool* (*)(at::Device device);

/// A new pool on a GPU. FAILED_PRECONDITION, with the reason, if no module makes pools.
[[nodiscard]] absl::StatusOr<std::unique_ptr<GraphPool>> NewGraphPool(at::Device device);

/// Registers the function that makes pools, or the reason why there are no pools. Thread-safe.
void SetGraphPools(absl::StatusOr<MakeGraphPool> make);

}  // namespace millrace::pipeline
