// What each layer costs on this machine, measured: what cuts and plans are made from.
#pragma once

#include <functional>
#include <stop_token>
#include <vector>

#include <ATen/core/Tensor.h>

#include "pipeline/nn/layer.h"
#include "pipeline/planner/layer_costs.h"

namespace millrace::pipeline {

struct ProfileOptions {
  /// Samples that are timed, after a few that are not.
  int runs = 9;
  /// Where the layers run, and stay.
  at::Device device = at::kCPU;
  /// Told how many samples are done, of how many. May be empty.
  std::function<void(int done, int all)> on_sample = {};
  /// Ends after the layer at hand once it is requested: then the costs mean nothing.
  std::stop_token stop = {};
};

/// What the layers of `chain` cost for `input`, on the calling thread, with its share of LibTorch's
/// threads. The last layer's costs include `objective`, which makes a scalar of the network's
/// output. Of each layer:
///
///  * the median time of forward, backward and update in milliseconds, of a device that has nothing
///    else to do (device_time.h, core_speed.h), however busy it is;
///  * `output_bytes`: its output and the skips that pass behind it;
///  * `activation_bytes`: its inputs, its outputs and all else that its forward allocates and
///    autograd keeps. A stage of several layers keeps less than their sum: what one makes and the
///    next reads is in both;
///  * `weight_bytes`: its parameters, not the optimizer's state.
///
/// A copy is one in this machine's memory, of as many bytes as cross the cut: what it takes if the
/// stages share nothing. `copy_gb_per_s` is measured over all cuts. `spread` is that of the
/// operations' times, each with the weight of its cost.
///
/// Leaves parameters, gradients, buffers and LibTorch's random generator as they are, bit for bit,
/// but on that device.
/// REQUIRES: runs > 0.
[[nodiscard]] NetworkCosts ProfileLayers(
    const LayerChain& chain, const at::Tensor& input,
    const std::function<at::Tensor(const at::Tensor&)>& objective,
    const ProfileOptions& options = {});

/// The bytes alone, layer after layer: no more than one layer's activations are there at once, and
/// nothing is timed. Ends after the layer at hand once `stop` is requested: then they mean nothing.
[[nodiscard]] std::vector<LayerCosts> MeasureMemory(
    const LayerChain& chain, const at::Tensor& input,
    const std::function<at::Tensor(const at::Tensor&)>& objective,
    const std::stop_token& stop = {});

}  // namespace millrace::pipeline
