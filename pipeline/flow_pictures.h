// Pictures and flow between bytes, as the service has them, and tensors, as the network does.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "pipeline/layer.h"
#include "pipeline/learner.h"

namespace millrace::pipeline {

/// The pictures as a network reads them: [2 or 3, channels, height, width] in 0..1, the oldest
/// first; one channel is grey, three are red, green, blue. `pinned`: in memory that a GPU reads by
/// itself. REQUIRES: each has 3 * width * height bytes; 1 or 3 channels; pinned: a GPU.
[[nodiscard]] at::Tensor TensorOf(const PicturePair& pair, int width, int height, int channels,
                                  bool pinned = false);

/// A flow [1, 2, height, width] as [height, width, 2]: (dx, dy) for every pixel. Without a graph.
[[nodiscard]] at::Tensor PixelByPixel(const at::Tensor& flow);

/// The values of each of `tensors`, which are of float and laid out row by row; waits for the
/// stream of a GPU that makes them, once.
[[nodiscard]] std::vector<std::vector<float>> OnHost(const Tensors& tensors);

}  // namespace millrace::pipeline
