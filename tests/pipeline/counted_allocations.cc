#include "tests/pipeline/counted_allocations.h"

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

void* operator new(std::size_t bytes) {
  const auto* const caller = static_cast<const char*>(__builtin_return_address(0));
  ++all;
  if (&__executable_start <= caller && caller < &etext) ++own;
  void* memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*bytes*/) noexcept { std::free(memory); }

namespace millrace::pipeline {

std::int64_t Allocations() { return all; }
std::int64_t OwnAllocations() { return own; }

}  // namespace millrace::pipeline
