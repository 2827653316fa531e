// Two software GPUs, for tests on machines without a GPU: a program that links this has devices
// cuda:0 and cuda:1 in LibTorch. They compute with LibTorch's operators for the CPU, and show the
// hazards of real GPUs. Work runs only when a thread waits for it, streams overtake each other
// unless an event forbids it, and freed memory gets another owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

namespace millrace::soft_gpu {

inline constexpr c10::DeviceIndex kDevices = 2;
/// That a GPU gives out in turn, of each priority.
inline constexpr int kPoolStreams = 8;

/// From now on memory is given only as long as no more than `bytes` are in use; 0: always.
void LimitMemory(std::size_t bytes);
/// From now on `hook` is called in each capture, while its stream is recorded; empty: nothing is.
/// Not while anything is captured.
void WhileRecording(std::function<void()> hook);
/// The number of a stream over all devices.
[[nodiscard]] std::int64_t NumberOf(const c10::Stream& stream);
/// Of the calling thread.
[[nodiscard]] c10::DeviceIndex CurrentDevice();
[[nodiscard]] std::int64_t CurrentStream(c10::DeviceIndex device);

}  // namespace millrace::soft_gpu
