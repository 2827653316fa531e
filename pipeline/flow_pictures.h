// Pictures and flow between bytes, as the service has them, and tensors, as the network does.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "pipeline/learner.h"

namespace millrace::pipeline {

/// The pictures as a network reads them: [2 or 3, channels, height, width] in 0..1, the oldest
/// first; one channel is grey, three are red, green, blue.
/// REQUIRES: each has 3 * width * height bytes; 1 or 3 channels.
[[nodiscard]] at::Tensor TensorOf(const PicturePair& pair, int width, int height, int channels);

/// A flow [1, 2, height, width] as [height, width, 2]: (dx, dy) for every pixel. Without a graph.
[[nodiscard]] at::Tensor PixelByPixel(const at::Tensor& flow);

/// The values of `tensor`, which is laid out row by row; waits for the GPU that makes them.
[[nodiscard]] std::vector<float> OnHost(const at::Tensor& tensor);

}  // namespace millrace::pipeline
