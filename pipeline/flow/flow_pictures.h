// Converts pictures and flow between the service's bytes and the network's tensors.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "pipeline/learner/learner.h"
#include "pipeline/nn/layer.h"

namespace millrace::pipeline {

/// The pictures' bytes, the oldest first: [2 or 3, height, width, 3], red, green, blue. `pinned`:
/// in memory that a GPU can read directly. REQUIRES: each has 3 * width * height bytes; pinned: a
/// GPU.
[[nodiscard]] at::Tensor BytesOf(const Sample& sample, int width, int height, bool pinned = false);

/// The pictures as the network's input: [n, channels, height, width] in 0..1; one channel is grey,
/// three are red, green, blue. On the device of `bytes` (BytesOf()). REQUIRES: 1 or 3 channels.
[[nodiscard]] at::Tensor PlanesOf(const at::Tensor& bytes, int channels);

/// A flow [1, 2, height, width] as [height, width, 2]: (dx, dy) for every pixel. Without a graph.
[[nodiscard]] at::Tensor PixelByPixel(const at::Tensor& flow);

/// The values of each of `tensors`, which are contiguous and of float. Waits for a GPU as
/// ToHost().
[[nodiscard]] std::vector<std::vector<float>> OnHost(const Tensors& tensors);

}  // namespace millrace::pipeline
