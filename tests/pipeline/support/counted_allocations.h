// Counts allocations by replacing operator new: for a separate program, without sanitizers.
#pragma once

#include <cstdint>

namespace millrace::pipeline {

/// Calls of operator new so far, on all threads.
[[nodiscard]] std::int64_t Allocations();

/// Those among them that stand in this program itself, not in a library that it calls: no strings
/// of libstdc++, and no Tensors that outgrow the places that they have.
[[nodiscard]] std::int64_t OwnAllocations();

}  // namespace millrace::pipeline
