#include "pipeline/learner/planar_picture.h"

#include "base/check.h"

namespace millrace::pipeline {
namespace {

constexpr std::size_t kColours = 3;

float* WriteGrey(std::span<const std::uint8_t> rgb, float* out) {
  for (std::size_t i = 0; i < rgb.size(); i += kColours) {
    const auto red = static_cast<float>(rgb[i]);
    const auto green = static_cast<float>(rgb[i + 1]);
    const auto blue = static_cast<float>(rgb[i + 2]);
    *out++ = (0.299F * red + 0.587F * green + 0.114F * blue) / 255.0F;
  }
  return out;
}

}  // namespace

float* WritePlanar(std::span<const std::uint8_t> rgb, int channels, float* out) {
  MILLRACE_CHECK((channels == 1 || channels == 3) && rgb.size() % kColours == 0);
  if (channels == 1) return WriteGrey(rgb, out);
  for (std::size_t channel = 0; channel < kColours; ++channel) {
    for (std::size_t i = channel; i < rgb.size(); i += kColours) {
      *out++ = static_cast<float>(rgb[i]) / 255.0F;
    }
  }
  return out;
}

std::vector<float> PlanarOf(std::span<const std::uint8_t> rgb, int channels) {
  std::vector<float> made(rgb.size() / kColours * channels);
  WritePlanar(rgb, channels, made.data());
  return made;
}

}  // namespace millrace::pipeline
