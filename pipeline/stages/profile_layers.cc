#include "pipeline/stages/profile_layers.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "absl/functional/function_ref.h"
#include "base/check.h"
#include "base/median.h"
#include "pipeline/device/core_speed.h"
#include "pipeline/device/device_time.h"
#include "pipeline/device/live_bytes.h"
#include "pipeline/device/stage_devices.h"
#include "pipeline/nn/kept_model.h"
#include "pipeline/plan/serial_run.h"
#include "pipeline/schedules/building_blocks.h"
#include "pipeline/stages/staged_network.h"

namespace millrace::pipeline {
namespace {

// The first sample fills caches and allocators. Its memory is measured: it replaces no older
// tensors.
constexpr int kUntimed = 1;
constexpr double kBytesPerMsPerGb = 1e6;

using Times = std::vector<double>;

// The variance of the logarithms; 0 for fewer than two times.
double Variance(const Times& times) {
  if (times.size() < 2) return 0;
  constexpr double kClockTick = 1e-6;  // The logarithm of a time of zero does not exist.
  double sum = 0;
  double squares = 0;
  for (double time : times) {
    const double log = std::log(std::max(time, kClockTick));
    sum += log;
    squares += log * log;
  }
  const auto count = static_cast<double>(times.size());
  return std::max(0.0, (squares - sum * sum / count) / (count - 1));
}

// Makes every layer a stage.
Cuts AllCuts(const LayerChain& chain) {
  Cuts cuts;
  for (int layer = 1; layer < static_cast<int>(chain.layers.size()); ++layer) cuts.push_back(layer);
  return cuts;
}

// With split backwards, to measure their parts.
Plan OneByOne(PipelineShape shape) {
  std::vector<StageCost> costs(shape.stages);
  auto plan = MakePlan("sequential", {.shape = std::move(shape), .costs = std::move(costs)});
  MILLRACE_CHECK(plan.ok());
  SplitBackwards(*plan);
  return *std::move(plan);
}

double Bytes(at::TensorList tensors) {
  double bytes = 0;
  for (const at::Tensor& tensor : tensors) {
    if (tensor.defined()) bytes += static_cast<double>(tensor.nbytes());
  }
  return bytes;
}

// Runs a layer, returns its outputs without a graph, and fills in its other costs.
using RunLayer =
    absl::FunctionRef<Tensors(const Stage& layer, const Tensors& inputs, LayerProfile&)>;

// Measures the weights, the inputs and the tensors that cross each cut.
NetworkProfile GoThrough(const LayerChain& chain, const at::Tensor& input,
                         const std::stop_token& stop, RunLayer run) {
  NetworkProfile network{.layers = {}, .input_bytes = Bytes(input)};
  for (const SkipEdge& skip : chain.skips) network.skips.push_back({skip.from, skip.to});
  std::vector<at::Tensor> on_their_way(chain.skips.size());
  at::Tensor main = input;
  for (const Stage& layer : CutIntoStages(chain, AllCuts(chain))) {
    if (stop.stop_requested()) break;
    Tensors inputs = {main};
    for (const Wire& wire : layer.incoming()) {
      if (wire.edge != Wire::kNeighbour) inputs.push_back(std::move(on_their_way[wire.edge]));
    }
    LayerProfile costs{.name = layer.layer_names()[0],
                       .weight_bytes = Bytes(layer.parameters()),
                       .activation_bytes = Bytes(inputs)};
    const Tensors outputs = run(layer, inputs, costs);
    main = outputs[0];
    for (std::size_t i = 1; i < outputs.size(); ++i) {
      const int edge = layer.outgoing()[i].edge;
      on_their_way[edge] = outputs[i];
      network.skips[edge].bytes = Bytes(outputs[i]);
    }
    costs.output_bytes = Bytes(main) + Bytes(on_their_way);
    network.layers.push_back(std::move(costs));
  }
  return network;
}

// Measures all costs that need no graph.
NetworkProfile SizesOf(const LayerChain& chain, const at::Tensor& input,
                       const std::stop_token& stop) {
  const at::NoGradGuard no_graph;
  return GoThrough(chain, input, stop,
                   [](const Stage& layer, const Tensors& inputs, LayerProfile& /*costs*/) {
                     return layer.Forward(inputs);
                   });
}

// Milliseconds to copy `bytes` bytes within memory.
double CopyMs(double bytes, int runs) {
  const at::Tensor from = at::zeros({static_cast<std::int64_t>(bytes)}, at::kByte);
  const at::Tensor to = at::zeros_like(from);
  Times times;
  for (int run = 0; run < kUntimed + runs; ++run) {
    const double time = MillisecondsOf(at::kCPU, [&] { to.copy_(from); });
    if (run >= kUntimed) times.push_back(time);
  }
  return Median(std::move(times));
}

void AddCopies(NetworkProfile& network, int runs) {
  double bytes = 0;
  double ms = 0;
  for (std::size_t cut = 0; cut + 1 < network.layers.size(); ++cut) {
    bytes += network.layers[cut].output_bytes;
    ms += CopyMs(network.layers[cut].output_bytes, runs);
  }
  if (bytes <= 0 || ms <= 0) return;
  network.copy_gb_per_s = bytes / (ms * kBytesPerMsPerGb);
  for (LayerProfile& layer : network.layers) {
    layer.cost.copy = layer.output_bytes / (network.copy_gb_per_s * kBytesPerMsPerGb);
  }
}

// Runs the layers in order, forward and backward, and measures each one's time.
class Profiling {
 public:
  Profiling(const LayerChain& chain, const at::Tensor& input, at::Device device,
            const std::function<at::Tensor(const at::Tensor&)>& objective)
      : input_(input),
        device_(device),
        plan_(OneByOne(ShapeOf(chain, AllCuts(chain)))),
        // With a learning rate of 0, the update does all its work but changes nothing.
        network_({.chain = chain,
                  .cuts = AllCuts(chain),
                  .devices = {device},
                  .plan = plan_,
                  .loss = std::make_unique<FunctionLoss>(
                      [&objective](const StageOutput& o) { return objective(o.output); }),
                  .optimizer = {.learning_rate = 0}}),
        times_(chain.layers.size()) {}

  using Time = std::chrono::steady_clock::time_point;

  void Run(const ProfileOptions& options, Time end, std::vector<LayerProfile>& layers) {
    const int all = kUntimed + options.runs;
    const auto tell = [&](std::int64_t done) {
      if (options.on_sample) options.on_sample(static_cast<int>(done), all);
    };
    bool ended = false;
    RunSerially(plan_, all, [&](const Step& step) {
      const bool begins = step.kind == OperationKind::kForward && step.stage == 1;
      const bool late = step.first > kUntimed && std::chrono::steady_clock::now() >= end;
      ended = ended || options.stop.stop_requested() || (begins && late);
      if (ended) return;
      if (begins) Begin(step.first, tell);
      RunStep(step, layers[step.stage - 1]);
    });
    if (!options.stop.stop_requested()) tell(all);
  }

  [[nodiscard]] int timed_samples() {
    return static_cast<int>(TimesOf(0, OperationKind::kForward).size());
  }

  // Writes medians, scaled to an idle core, into `layers`. Returns the spread, which one sample
  // does not show.
  std::optional<double> Summarize(std::vector<LayerProfile>& layers) {
    const double slowness = FastestCoreOfThisProgram().SlownessOf(Median(yardstick_ms_));
    double weights = 0;
    double variances = 0;
    const auto median = [&](const Times& times) {
      const double cost = Median(times);
      weights += cost;
      variances += cost * Variance(times);
      return cost / slowness;
    };
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const int layer = static_cast<int>(i);
      const double of_inputs = median(TimesOf(layer, OperationKind::kBackward));
      const double of_weights = median(TimesOf(layer, OperationKind::kWeightGradient));
      layers[i].cost = {.forward = median(TimesOf(layer, OperationKind::kForward)),
                        .backward = of_inputs + of_weights,
                        .update = median(TimesOf(layer, OperationKind::kUpdate)),
                        .weight_gradient = of_weights};
    }
    if (timed_samples() < 2) return std::nullopt;
    return weights > 0 ? std::sqrt(variances / weights) : 0;
  }

 private:
  void Begin(std::int64_t sample, const std::function<void(std::int64_t)>& tell) {
    tell(sample);
    if (device_.is_cpu()) yardstick_ms_.push_back(yardstick_.RunMs());
    network_.Admit(sample, input_);
  }

  // The first forward of each layer is not timed: it shows the memory.
  void RunStep(const Step& step, LayerProfile& layer) {
    if (step.kind == OperationKind::kForward && step.first == 0) {
      layer.activation_bytes += BytesLeftBy([&] { network_.Run(step); });
      return;
    }
    const double time = MillisecondsOf(device_, [&] { network_.Run(step); });
    if (step.first >= kUntimed) TimesOf(step.stage - 1, step.kind).push_back(time);
  }

  Times& TimesOf(int layer, OperationKind kind) { return times_[layer][static_cast<int>(kind)]; }

  const at::Tensor& input_;
  const at::Device device_;
  const Plan plan_;
  StagedNetwork network_;
  std::vector<std::array<Times, kOperationKinds>> times_;
  // Run once per sample, between the layers, so that it is slowed down like them.
  Yardstick yardstick_;
  Times yardstick_ms_;
};

}  // namespace

NetworkProfile ProfileLayers(const LayerChain& chain, const at::Tensor& input,
                             const std::function<at::Tensor(const at::Tensor&)>& objective,
                             const ProfileOptions& options) {
  MILLRACE_CHECK(options.runs > 0);
  const auto end = std::chrono::steady_clock::now() + options.limit;
  for (const auto& layer : chain.layers) MoveTo(options.device, *layer);
  const KeptModel kept(chain);
  const at::Tensor there = input.to(options.device);
  NetworkProfile network = SizesOf(chain, there, options.stop);
  if (options.stop.stop_requested()) return network;
  Profiling profiling(chain, there, options.device, objective);
  profiling.Run(options, end, network.layers);
  network.spread = profiling.Summarize(network.layers);
  if (!options.stop.stop_requested()) AddCopies(network, profiling.timed_samples());
  return network;
}

std::vector<LayerProfile> MeasureMemory(
    const LayerChain& chain, const at::Tensor& input,
    const std::function<at::Tensor(const at::Tensor&)>& objective, const std::stop_token& stop) {
  const KeptModel kept(chain);
  std::size_t number = 0;
  return GoThrough(chain, input, stop,
                   [&](const Stage& layer, const Tensors& inputs, LayerProfile& costs) {
                     Tensors outputs;
                     at::Tensor scalar;
                     const bool last = ++number == chain.layers.size();
                     costs.activation_bytes += BytesLeftBy([&] {
                       outputs = layer.Forward(inputs);
                       if (last) scalar = objective(outputs[0]);
                     });
                     for (at::Tensor& output : outputs) output = output.detach();
                     return outputs;
                   })
      .layers;
}

}  // namespace millrace::pipeline
