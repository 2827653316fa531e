// The cost of a picture's hand-over from one process to another, without a camera: a decoder's time
// varies by more than this cost.
#pragma once

#include <vector>

#include "ingest/frame/grid.h"

namespace millrace::benchmarks {

struct HandOver {
  double cpu_ms = 0;  ///< A picture, of both processes, with what it takes to make one of nothing.
  std::vector<double> delay_ms;  ///< From before it is copied until the listener has it.
};

/// Hands over a thousand pictures, ten milliseconds apart. REQUIRES: one thread.
[[nodiscard]] HandOver MeasureHandOver(const ingest::Extent& grid);

}  // namespace millrace::benchmarks
