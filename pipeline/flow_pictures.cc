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

std::shared_ptr<const std::vector<float>> Interleaved(const at::Tensor& flow) {
  const at::Tensor pixels = flow.detach().cpu().squeeze(0).permute({1, 2, 0}).contiguous();
  const float* data = pixels.data_ptr<float>();
  return std::make_shared<const std::vector<float>>(data, data + pixels.numel());
}

}  // namespace millrace::pipeline
