// The devices of stages: the CPU, or GPUs by CUDA. LibTorch's part for CUDA is loaded only if the
// user asks for a GPU, so one program runs with and without a GPU.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/nn/layer.h"

namespace millrace::pipeline {

/// The device of each stage, or one for all, from the names "cpu", "cuda" (the first GPU), "cuda:0"
/// and so on. An empty list means the CPU. Loads CUDA if needed. So call this before any LibTorch
/// call that may check for CUDA, such as at::manual_seed(). INVALID_ARGUMENT on a bad name.
/// NOT_FOUND if the GPU does not exist. Otherwise fails as LoadCuda() does.
[[nodiscard]] absl::StatusOr<std::vector<at::Device>> FindDevices(
    const std::vector<std::string>& names);

/// INVALID_ARGUMENT unless `devices` is one, or equal to `stages`.
[[nodiscard]] absl::Status CheckDeviceCount(std::size_t devices, int stages);

/// The device of `stage` (from 1). REQUIRES: CheckDeviceCount() is OK.
[[nodiscard]] inline at::Device DeviceOfStage(const std::vector<at::Device>& devices, int stage) {
  return devices.size() == 1 ? devices.front() : devices.at(stage - 1);
}

/// Loads LibTorch's part for CUDA and our own modules (cuda_libraries.h), once. Fails as
/// FindCudaDriver(), and with FAILED_PRECONDITION if LibTorch has no such part or its dependencies
/// are not installed. Thread-safe.
[[nodiscard]] absl::Status LoadCuda();

/// Moves a layer's parameters and buffers to `device`; the tensor objects stay the same.
void MoveTo(at::Device device, const Layer& layer);

/// Waits until a GPU has done all work of the calling thread's current stream. Returns at once on
/// the CPU. Our code never waits for a whole GPU, because that fails while a stream is being
/// captured.
void AwaitStream(at::Device device);

/// `tensor` on `device`, for use on the current stream of the calling thread; `tensor` itself if it
/// is there already. Calls record_stream(), so that the allocator does not reuse the memory before
/// this thread's stream has read it.
[[nodiscard]] at::Tensor ToDevice(const at::Tensor& tensor, at::Device device);

/// Copies `tensor` into `memory`, which has the same shape, invisibly to autograd.
void CopyTo(const at::Tensor& memory, const at::Tensor& tensor);

/// One stream per GPU among `devices` for copies to and from it. Copies there do not wait for
/// computations.
[[nodiscard]] std::vector<c10::Stream> CopyStreams(const std::vector<at::Device>& devices);

/// `tensors`, all of one device, in the host's memory; `tensors` themselves if they are there
/// already. Waits until the current stream's work so far and the copies are done, and for nothing
/// else.
[[nodiscard]] Tensors ToHost(const Tensors& tensors);

}  // namespace millrace::pipeline
