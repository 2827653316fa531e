// Reads numbers from standard input and prints after how many of them AdaptiveWindow detects a
// change. For adaptive_window_oracle_test.py.
#include <cstdint>
#include <iostream>

#include "pipeline/decisions/adaptive_window.h"

int main() {
  millrace::pipeline::AdaptiveWindow window;
  std::int64_t count = 0;
  for (double value = 0; std::cin >> value;) {
    ++count;
    if (window.Add(value)) std::cout << count << '\n';
  }
  return 0;
}
