// Work of a GPU that was captured once and is launched again and again, for the price of one
// launch.
//
// What can capture is not linked, but loaded with LibTorch's part for CUDA (cuda_libraries.h).
#pragma once

#include <memory>

#include <c10/core/Device.h>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace millrace::pipeline {

/// Work on the memory that it was captured with: what it read then, it reads again, with the values
/// of now.
class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;
  /// Puts the work into the current stream of the thread that calls.
  virtual void Launch() = 0;
};

/// Memory that graphs share among themselves: what one leaves free, the next takes. So those of a
/// pool are launched one after the other, in one stream; tensors that were made in a capture and
/// are still held are nobody else's.
class GraphPool {
 public:
  virtual ~GraphPool() = default;
  /// Captures what `work` puts into the current stream, which is not the default one; nothing of it
  /// is done before Launch(). Throws what `work` throws, and what the GPU says of work that cannot
  /// be captured: whose host waits for it, say. The stream is then as before. Thread-safe, one at a
  /// time.
  [[nodiscard]] virtual std::unique_ptr<DeviceGraph> Capture(absl::FunctionRef<void()> work) = 0;
};

using MakeGraphPool = GraphPool* (*)(at::Device device);

/// A new pool on a GPU. FAILED_PRECONDITION where nobody makes any, with the reason.
[[nodiscard]] absl::StatusOr<std::unique_ptr<GraphPool>> NewGraphPool(at::Device device);

/// Says who makes pools, or why nobody does. Thread-safe.
void SetGraphPools(absl::StatusOr<MakeGraphPool> make);

}  // namespace millrace::pipeline
