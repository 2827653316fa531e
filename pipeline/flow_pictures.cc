#include "pipeline/flow_pictures.h"

#include <cstdint>

#include <ATen/ops/empty.h>

#include "pipeline/learning/planar_picture.h"

namespace millrace::pipeline {

at::Tensor TensorOf(const PicturePair& pair, int width, int height, int channels) {
  const std::int64_t pictures = pair.before.empty() ? 2 : 3;
  at::Tensor made = at::empty({pictures, channels, height, width}, at::kFloat);
  float* out = made.data_ptr<float>();
  for (const auto rgb : {pair.before, pair.previous, pair.current}) {
    out = WritePlanar(rgb, channels, out);
  }
  return made;
}

at::Tensor PixelByPixel(const at::Tensor& flow) {
  return flow.detach().squeeze(0).permute({1, 2, 0}).contiguous();
}

std::vector<float> OnHost(const at::Tensor& tensor) {
  const at::Tensor here = tensor.cpu();
  const float* data = here.const_data_ptr<float>();
  return {data, data + here.numel()};
}

}  // namespace millrace::pipeline
