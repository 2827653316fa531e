// Pictures and flow between bytes, as the service has them, and tensors, as the network does.
#pragma once

#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "pipeline/learner.h"

namespace millrace::pipeline {

/// Two pictures as the network reads them: grey [2, 1, height, width] in 0..1, previous then
/// current. REQUIRES: both have 3 * width * height bytes.
[[nodiscard]] at::Tensor GreyPair(const PicturePair& pair, int width, int height);

/// [1, 2, height, width] as (dx, dy) for every pixel.
[[nodiscard]] std::shared_ptr<const std::vector<float>> Interleaved(const at::Tensor& flow);

}  // namespace millrace::pipeline
