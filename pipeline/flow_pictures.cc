#include "pipeline/flow_pictures.h"

#include <array>
#include <cstdint>
#include <iterator>
#include <span>

#include <ATen/ops/empty.h>

#include "base/check.h"

namespace millrace::pipeline {
namespace {

using Bytes = std::span<const std::uint8_t>;

at::Tensor Grey(std::span<const Bytes> pictures, int width, int height) {
  at::Tensor grey = at::empty({std::ssize(pictures), 1, height, width}, at::kFloat);
  float* out = grey.data_ptr<float>();
  for (const Bytes rgb : pictures) {
    for (std::size_t i = 0; i < rgb.size(); i += 3) {
      const auto red = static_cast<float>(rgb[i]);
      const auto green = static_cast<float>(rgb[i + 1]);
      const auto blue = static_cast<float>(rgb[i + 2]);
      *out++ = (0.299F * red + 0.587F * green + 0.114F * blue) / 255.0F;  // Luma of ITU-R BT.601.
    }
  }
  return grey;
}

at::Tensor Colours(std::span<const Bytes> pictures, int width, int height) {
  at::Tensor colours = at::empty({std::ssize(pictures), 3, height, width}, at::kFloat);
  float* out = colours.data_ptr<float>();
  for (const Bytes rgb : pictures) {
    for (std::size_t channel = 0; channel < 3; ++channel) {
      for (std::size_t i = channel; i < rgb.size(); i += 3) {
        *out++ = static_cast<float>(rgb[i]) / 255.0F;
      }
    }
  }
  return colours;
}

}  // namespace

at::Tensor TensorOf(const PicturePair& pair, int width, int height, int channels) {
  MILLRACE_CHECK(channels == 1 || channels == 3);
  const std::array<Bytes, 3> all = {pair.before, pair.previous, pair.current};
  const std::span<const Bytes> pictures = std::span(all).subspan(pair.before.empty() ? 1 : 0);
  return channels == 1 ? Grey(pictures, width, height) : Colours(pictures, width, height);
}

std::shared_ptr<const std::vector<float>> Interleaved(const at::Tensor& flow) {
  const at::Tensor pixels = flow.detach().squeeze(0).permute({1, 2, 0}).contiguous();
  const float* data = pixels.data_ptr<float>();
  return std::make_shared<const std::vector<float>>(data, data + pixels.numel());
}

}  // namespace millrace::pipeline
