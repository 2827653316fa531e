// A picture to make scenes of. Free of LibTorch.
#pragma once

#include <cstdint>
#include <vector>

namespace millrace::pipeline {

/// A grey picture, rows first.
struct Photograph {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> grey;
};

}  // namespace millrace::pipeline
