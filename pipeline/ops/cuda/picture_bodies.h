// Converts a camera's bytes into the planes that networks read.
#pragma once

#include "pipeline/ops/cuda/body.h"

// NOLINTBEGIN(bugprone-implicit-widening-of-multiplication-result): an Index reaches every element.
namespace millrace::pipeline::gpu {

/// See WritePlanar() (planar_picture.h). One element is a pixel, over all pictures.
struct PlanesBody {
  const std::uint8_t* rgb = nullptr;
  float* planes = nullptr;
  Index channels = 1;  // 1 or 3.
  Index pixels = 0;    // Per picture.

  MILLRACE_BODY void operator()(Index i) const {
    const std::uint8_t* const pixel = rgb + 3 * i;
    float* const out = planes + i / pixels * channels * pixels + i % pixels;
    const auto red = static_cast<float>(pixel[0]);
    const auto green = static_cast<float>(pixel[1]);
    const auto blue = static_cast<float>(pixel[2]);
    if (channels == 1) {
      out[0] = (0.299F * red + 0.587F * green + 0.114F * blue) / 255.0F;
      return;
    }
    out[0] = red / 255.0F;
    out[pixels] = green / 255.0F;
    out[2 * pixels] = blue / 255.0F;
  }
};

}  // namespace millrace::pipeline::gpu
// NOLINTEND(bugprone-implicit-widening-of-multiplication-result)
