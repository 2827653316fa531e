// The memory of a GPU made of software: the host's. What is freed is spoiled as soon as the next
// owner of the same memory could write there, so who still reads it, without having said so by
// record_stream(), reads no number.
#pragma once

#include <cstdint>

#include <c10/core/Allocator.h>
#include <c10/core/Device.h>

namespace millrace::soft_gpu {

/// Gives memory of the current device, to its current stream.
[[nodiscard]] c10::Allocator* Memory();

/// What `stream` does from now on reads memory that is another's.
void RecordStream(const c10::DataPtr& memory, std::int64_t stream);

/// Gives memory of the host's that copies read and write whenever they are done: it is not
/// another's before all copies have been done that RecordStream() was told of.
[[nodiscard]] c10::Allocator* PinnedMemory();
[[nodiscard]] bool IsPinned(const void* memory);

/// Whose memory that is, of those that have not been freed; -1: nobody's.
[[nodiscard]] c10::DeviceIndex DeviceOf(const void* memory);

}  // namespace millrace::soft_gpu
