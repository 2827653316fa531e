// Random grey pictures that resemble the world to a network: flat areas, sharp edges, and things of
// any size in front of each other.
//
// They are "dead leaves" (Lee, Mumford and Huang, 2001): shapes fall on each other, small ones more
// often than large ones. This gives the statistics of photographs without any photograph.
#pragma once

#include <complex>
#include <vector>

#include "base/random.h"

namespace millrace::pipeline {

/// A picture that can be sampled between its pixels, and is mirrored without limit beyond its
/// borders.
///
/// Constant after construction. Identical on every machine: its file is compiled without fusing a
/// product and a sum into one rounding.
class Texture {
 public:
  struct Options {
    int width = 0;
    int height = 0;
    /// Half the size of the largest leaf, in pixels. The smallest has 1.5.
    double max_radius = 60;
    /// The maximum distance of grey values from `brightness`.
    double contrast = 0.4;
    double brightness = 0.5;
  };

  /// REQUIRES: width and height at least 2.
  Texture(const Options& options, Random& random);

  /// The grey value at a point, by cubic interpolation. Values may lie slightly outside 0..1.
  [[nodiscard]] float At(std::complex<double> point) const;

 private:
  const int width_;
  const int height_;
  const int row_;              // Pixels per row, with its margins.
  std::vector<float> pixels_;  // With mirrored margins.
};

}  // namespace millrace::pipeline
