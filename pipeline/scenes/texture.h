// Grey pictures made by chance that look, to a network, like the world: flat areas, sharp edges and
// things of every size in front of each other.
//
// They are "dead leaves" (Lee, Mumford and Huang, 2001): shapes fall on each other, small ones more
// often than large ones, which gives the statistics of photographs without any photograph.
#pragma once

#include <complex>
#include <vector>

#include "base/random.h"

namespace millrace::pipeline {

/// A picture that can be looked up between its pixels, mirrored for ever beyond its borders.
///
/// Constant after construction. The same on every machine: its file is compiled so that no product
/// and sum are joined into one rounding.
class Texture {
 public:
  struct Options {
    int width = 0;
    int height = 0;
    /// Half the size of the smallest and of the largest leaf, in pixels.
    double least_radius = 1.5;
    double most_radius = 60;
    /// How far grey values may lie from `brightness`.
    double contrast = 0.4;
    double brightness = 0.5;
  };

  /// REQUIRES: width and height at least 2.
  Texture(const Options& options, Random& random);

  /// The grey value at a point, interpolated by cubics. Values lie around 0..1, not strictly
  /// inside.
  [[nodiscard]] float At(std::complex<double> point) const;

 private:
  const int width_;
  const int height_;
  const int row_;              // Pixels of a row, with its margins.
  std::vector<float> pixels_;  // With margins that mirror what is inside.
};

}  // namespace millrace::pipeline
