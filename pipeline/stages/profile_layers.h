// Measures the cost of each layer on this machine; cuts and plans are based on it.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <vector>

#include <ATen/core/Tensor.h>

#include "pipeline/nn/layer.h"
#include "pipeline/planner/layer_profile.h"

namespace millrace::pipeline {

struct ProfileOptions {
  /// Samples that are timed at most, after one that is not.
  int runs = 9;
  /// No further sample begins after this time, once one is timed: a network with an input of
  /// millions of pixels needs many seconds for each.
  std::chrono::milliseconds limit = std::chrono::seconds(10);
  /// The device on which the layers run, and stay.
  at::Device device = at::kCPU;
  /// Called with the number of finished samples and the total. May be empty.
  std::function<void(int done, int all)> on_sample = {};
  /// A stop request ends the measurement after the current layer; the costs are then meaningless.
  std::stop_token stop = {};
};

/// The costs of the layers of `chain` for `input`, on the calling thread, with its number of
/// LibTorch's threads. The last layer's costs include `objective`, which makes a scalar of the
/// network's output. For each layer:
///
///  * the median time of forward, backward, its weight gradient and update in milliseconds. It is
///  the time on an idle
///    device, even if the device is busy now (device_time.h, core_speed.h);
///  * `output_bytes`: its output and the skips that cross the cut behind it;
///  * `activation_bytes`: its inputs, its outputs, and all other memory that its forward allocates
///    and autograd keeps. A stage of several layers keeps less than their sum, because a tensor
///    between two layers counts in both;
///  * `weight_bytes`: its parameters, without the optimizer's state.
///
/// `skips` and `input_bytes` are the bytes of the chain's skips and of `input`.
/// A copy's cost is that of copying the bytes of the cut within this machine's memory, as for
/// stages that share no memory. `copy_gb_per_s` is measured over all cuts. `spread` is the spread
/// of the operations' times, weighted by cost.
///
/// Leaves parameters, gradients, buffers and LibTorch's random generator bit-identical, but moves
/// them to the device. REQUIRES: runs > 0.
[[nodiscard]] NetworkProfile ProfileLayers(
    const LayerChain& chain, const at::Tensor& input,
    const std::function<at::Tensor(const at::Tensor&)>& objective,
    const ProfileOptions& options = {});

/// The bytes alone, layer by layer. Only one layer's activations exist at a time, and nothing is
/// timed. A request by `stop` ends it after the current layer; the bytes are then meaningless.
[[nodiscard]] std::vector<LayerProfile> MeasureMemory(
    const LayerChain& chain, const at::Tensor& input,
    const std::function<at::Tensor(const at::Tensor&)>& objective,
    const std::stop_token& stop = {});

}  // namespace millrace::pipeline
