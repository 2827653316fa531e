// What each layer costs on this machine, measured: what the cuts are made by.
#pragma once

#include <functional>
#include <stop_token>
#include <vector>

#include <ATen/core/Tensor.h>

#include "pipeline/layer.h"
#include "pipeline/stage_cost.h"

namespace millrace::pipeline {

/// The cost in milliseconds of forward, backward and update of each layer of `chain` for `input`;
/// the last layer's include `objective`, which makes a scalar of the network's output. On the
/// calling thread, with its share of LibTorch's threads. Each figure is the least of a few runs,
/// since a noisy machine only ever adds. Leaves the parameters as they are, without gradients. Ends
/// after the layer at hand once `stop` is requested: then the costs mean nothing.
[[nodiscard]] std::vector<StageCost> ProfileLayers(
    const LayerChain& chain, const at::Tensor& input,
    const std::function<at::Tensor(const at::Tensor&)>& objective,
    const std::stop_token& stop = {});

}  // namespace millrace::pipeline
