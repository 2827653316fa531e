#include "pipeline/flow_pictures.h"

#include <cstdint>

#include <ATen/ops/empty.h>

#include "pipeline/learning/planar_picture.h"
#include "pipeline/stage_devices.h"

namespace millrace::pipeline {

at::Tensor TensorOf(const PicturePair& pair, int width, int height, int channels, bool pinned) {
  const std::int64_t pictures = pair.before.empty() ? 2 : 3;
  at::Tensor made = at::empty({pictures, channels, height, width},
                              at::TensorOptions(at::kFloat).pinned_memory(pinned));
  float* out = made.data_ptr<float>();
  for (const auto rgb : {pair.before, pair.previous, pair.current}) {
    out = WritePlanar(rgb, channels, out);
  }
  return made;
}

at::Tensor PixelByPixel(const at::Tensor& flow) {
  return flow.detach().squeeze(0).permute({1, 2, 0}).contiguous();
}

std::vector<std::vector<float>> OnHost(const Tensors& tensors) {
  Tensors here;
  for (const at::Tensor& tensor : tensors) here.push_back(SentToHost(tensor));
  AwaitStream(tensors.front().device());
  std::vector<std::vector<float>> values;
  for (const at::Tensor& tensor : here) {
    const float* data = tensor.const_data_ptr<float>();
    values.emplace_back(data, data + tensor.numel());
  }
  return values;
}

}  // namespace millrace::pipeline
