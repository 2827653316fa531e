#include "pipeline/flow_pictures.h"

#include <cstdint>
#include <span>

#include <ATen/ops/empty.h>

#include "base/check.h"

namespace millrace::pipeline {
namespace {

at::Tensor GreyPair(const PicturePair& pair, int width, int height) {
  at::Tensor grey = at::empty({2, 1, height, width}, at::kFloat);
  float* out = grey.data_ptr<float>();
  for (std::span<const std::uint8_t> rgb : {pair.previous, pair.current}) {
    for (std::size_t i = 0; i < rgb.size(); i += 3) {
      const auto red = static_cast<float>(rgb[i]);
      const auto green = static_cast<float>(rgb[i + 1]);
      const auto blue = static_cast<float>(rgb[i + 2]);
      *out++ = (0.299F * red + 0.587F * green + 0.114F * blue) / 255.0F;  // Luma of ITU-R BT.601.
    }
  }
  return grey;
}

at::Tensor ColourPair(const PicturePair& pair, int width, int height) {
  at::Tensor colours = at::empty({2, 3, height, width}, at::kFloat);
  float* out = colours.data_ptr<float>();
  for (std::span<const std::uint8_t> rgb : {pair.previous, pair.current}) {
    for (std::size_t channel = 0; channel < 3; ++channel) {
      for (std::size_t i = channel; i < rgb.size(); i += 3) {
        *out++ = static_cast<float>(rgb[i]) / 255.0F;
      }
    }
  }
  return colours;
}

}  // namespace

at::Tensor PairOf(const PicturePair& pair, int width, int height, int channels) {
  MILLRACE_CHECK(channels == 1 || channels == 3);
  return channels == 1 ? GreyPair(pair, width, height) : ColourPair(pair, width, height);
}

std::shared_ptr<const std::vector<float>> Interleaved(const at::Tensor& flow) {
  const at::Tensor pixels = flow.detach().squeeze(0).permute({1, 2, 0}).contiguous();
  const float* data = pixels.data_ptr<float>();
  return std::make_shared<const std::vector<float>>(data, data + pixels.numel());
}

}  // namespace millrace::pipeline
