#include "tests/pipeline/support/counted_allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

// Where the program's code begins and ends: the linker says so.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" const char __executable_start;
extern "C" const char etext;
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace {

std::atomic<std::int64_t> all = 0;
std::atomic<std::int64_t> own = 0;

}  // namespace

namespace {

void* Counted(void* memory, const void* caller) {
  const auto* const place = static_cast<const char*>(caller);
  ++all;
  if (&__executable_start <= place && place < &etext) ++own;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void* Aligned(std::size_t bytes, std::align_val_t alignment) {
  const auto side = static_cast<std::size_t>(alignment);
  return std::aligned_alloc(side, (bytes + side - 1) / side * side);
}

}  // namespace

void* operator new(std::size_t bytes) {
  return Counted(std::malloc(bytes), __builtin_return_address(0));
}
void* operator new[](std::size_t bytes) {
  return Counted(std::malloc(bytes), __builtin_return_address(0));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return Counted(Aligned(bytes, alignment), __builtin_return_address(0));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return Counted(Aligned(bytes, alignment), __builtin_return_address(0));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*bytes*/) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t /*bytes*/) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t /*side*/) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t /*side*/) noexcept { std::free(memory); }

namespace millrace::pipeline {

std::int64_t Allocations() { return all; }
std::int64_t OwnAllocations() { return own; }

}  // namespace millrace::pipeline
