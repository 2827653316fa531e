#include "pipeline/flow_pictures.h"

#include <cstdint>
#include <span>

#include <ATen/ops/empty.h>

namespace millrace::pipeline {

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

std::shared_ptr<const std::vector<float>> Interleaved(const at::Tensor& flow) {
  const at::Tensor pixels = flow.detach().squeeze(0).permute({1, 2, 0}).contiguous();
  const float* data = pixels.data_ptr<float>();
  return std::make_shared<const std::vector<float>>(data, data + pixels.numel());
}

}  // namespace millrace::pipeline
