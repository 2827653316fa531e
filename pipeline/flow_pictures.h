// Pictures and flow between bytes, as the service has them, and tensors, as the network does.
#pragma once

#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "pipeline/learner.h"

namespace millrace::pipeline {

/// Two pictures as a network reads them: [2, channels, height, width] in 0..1, previous then
/// current; one channel is grey, three are red, green, blue.
/// REQUIRES: both have 3 * width * height bytes; 1 or 3 channels.
[[nodiscard]] at::Tensor PairOf(const PicturePair& pair, int width, int height, int channels);

/// [1, 2, height, width] as (dx, dy) for every pixel.
[[nodiscard]] std::shared_ptr<const std::vector<float>> Interleaved(const at::Tensor& flow);

}  // namespace millrace::pipeline
