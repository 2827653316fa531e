// Where stages compute: the CPU, or GPUs by CUDA. LibTorch's part for CUDA is loaded when somebody
// asks for a GPU: the program is the same, and starts the same, with and without one.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/nn/layer.h"

namespace millrace::pipeline {

/// The device of each stage, or one for all, of "cpu", "cuda" (the first GPU) and "cuda:0" and on.
/// No name is the CPU. Loads CUDA where it is asked for, so call this before anything of
/// LibTorch's that may ask whether it is there, at::manual_seed() for one. INVALID_ARGUMENT on a
/// bad name; NOT_FOUND where there is no such GPU; else as LoadCuda().
[[nodiscard]] absl::StatusOr<std::vector<at::Device>> DevicesNamed(
    const std::vector<std::string>& names);

/// INVALID_ARGUMENT unless so many devices are one for all of `stages`, or one for each.
[[nodiscard]] absl::Status CheckDeviceCount(std::size_t devices, int stages);

/// Where `stage` (from 1) computes. REQUIRES: CheckDeviceCount() is OK.
[[nodiscard]] inline at::Device DeviceOfStage(const std::vector<at::Device>& devices, int stage) {
  return devices.size() == 1 ? devices.front() : devices.at(stage - 1);
}

/// Loads LibTorch's part for CUDA, once, and our own (cuda_libraries.h). Fails as FindCudaDriver(),
/// and with FAILED_PRECONDITION where LibTorch has no such part or what it needs is not installed.
/// Thread-safe.
[[nodiscard]] absl::Status LoadCuda();

/// Moves a layer's parameters and buffers, which stay the same tensors.
void MoveTo(at::Device device, const Layer& layer);

/// Waits until a GPU has done all that the current stream of the thread that calls was given; at
/// once on the CPU. Nothing of ours waits for a whole GPU: a stream that somebody captures fails
/// that.
void AwaitStream(at::Device device);

/// `tensor` where a stage on `device` can read it, on the stream of the thread that calls: itself,
/// if it is there already. What another stream of a GPU made is not given to others before this
/// stream is past here.
[[nodiscard]] at::Tensor Brought(const at::Tensor& tensor, at::Device device);

/// The same into memory that is there: of the device, of the same shape. Takes no notice of
/// autograd.
void PutOnDevice(const at::Tensor& memory, const at::Tensor& tensor);

/// A stream for copies to and from each GPU among `devices`, in which they wait for nothing that is
/// computed there.
[[nodiscard]] std::vector<c10::Stream> CopyStreams(const std::vector<at::Device>& devices);

/// `tensors`, all of one device, in the host's memory: themselves, if they are there already. Waits
/// until what the current stream has been given so far is done, and they have been copied, and for
/// nothing else.
[[nodiscard]] Tensors BroughtToHost(const Tensors& tensors);

}  // namespace millrace::pipeline
