// The memory of a software GPU: the host's memory. Freed memory is spoiled as soon as its next
// owner could write there. So a stream that still reads it, without record_stream(), reads NaN.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <c10/core/Allocator.h>
#include <c10/core/Device.h>

namespace millrace::soft_gpu {

/// Gives memory of the current device, to its current stream.
[[nodiscard]] c10::Allocator* Memory();

using Bytes = std::vector<char>;

/// Memory that recordings of a pool have freed: later ones get it again, as on a real GPU.
struct PoolMemory {
  std::vector<std::shared_ptr<Bytes>> freed;
};

/// While `stream` is recorded: takes memory from `pool`. nullptr: no longer.
void TakeFrom(std::shared_ptr<PoolMemory> pool, std::int64_t stream);

/// What `stream` does from now on reads memory that is another's.
void RecordStream(const c10::DataPtr& memory, std::int64_t stream);

/// Gives memory of the host's that copies read and write whenever they are done: it is not
/// another's before all copies have been done that RecordStream() was told of.
[[nodiscard]] c10::Allocator* PinnedMemory();
[[nodiscard]] bool IsPinned(const void* memory);

/// The device that owns this memory; -1 if no device does, or if the memory was freed.
[[nodiscard]] c10::DeviceIndex DeviceOf(const void* memory);

}  // namespace millrace::soft_gpu
