// Code that fuzz targets share. Each defines LLVMFuzzerTestOneInput(). libFuzzer calls it with
// random inputs, and replay.cc with the inputs of the corpus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace millrace {

inline std::string_view TextOf(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Stops at the input for which something that must always hold does not.
inline void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "it does not hold that %s\n", what);
  std::abort();
}

}  // namespace millrace
