// Bilinear sampling between rows and columns of pixels. Free of LibTorch.
#pragma once

#include <algorithm>

namespace millrace::pipeline {

/// A position between two neighbouring rows or columns. `share` is the weight of the second.
struct Between {
  int first = 0;
  int second = 0;
  float share = 0;
};

/// `place` among `size` rows or columns. A place outside becomes the border.
inline Between PlaceBetween(float place, int size) {
  const float held = std::clamp(place, 0.0F, static_cast<float>(size - 1));
  const int first = static_cast<int>(held);
  return {first, std::min(first + 1, size - 1), held - static_cast<float>(first)};
}

inline float Mixed(float a, float b, float share) { return a + (b - a) * share; }

/// `at(row, column)` is the value of a pixel.
template <typename At>
float Bilinear(const Between& row, const Between& column, const At& at) {
  const float above =
      Mixed(at(row.first, column.first), at(row.first, column.second), column.share);
  const float below =
      Mixed(at(row.second, column.first), at(row.second, column.second), column.share);
  return Mixed(above, below, row.share);
}

}  // namespace millrace::pipeline
