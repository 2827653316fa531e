#include "pipeline/flow/flow_profile.h"

#include <algorithm>
#include <utility>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/ops/rand.h>

#include "base/status.h"
#include "base/usable_cores.h"
#include "pipeline/classical/prior_flow.h"
#include "pipeline/device/device_choice.h"
#include "pipeline/device/stage_devices.h"
#include "pipeline/flow/flow_task.h"
#include "pipeline/learner/device_names.h"
#include "pipeline/models/open_flow_network.h"
#include "pipeline/nn/weights_file.h"
#include "pipeline/stages/profile_layers.h"

namespace millrace::pipeline {

absl::StatusOr<LayerChain> OpenFlowChain(const LearnerOptions& options,
                                         const FlowTaskOptions& task) {
  MILLRACE_ASSIGN_OR_RETURN(
      NetworkWithState opened,
      OpenFlowNetwork({.name = task.network, .seed = options.seed, .pairs = PairsFor(task)},
                      options.width, options.height));
  opened.chain.precision = task.precision;
  if (!options.weights.empty()) {
    MILLRACE_RETURN_IF_ERROR(LoadWeights(options.weights, opened.chain));
  }
  return std::move(opened.chain);
}

void SetPriorThreads(const std::vector<std::string>& devices) {
  const bool on_gpus =
      !devices.empty() && std::ranges::all_of(devices, [](const std::string& name) {
        return GpuNumber(name).has_value();
      });
  constexpr double kMaxThreads = 4;
  PriorFlow::SetThreads(on_gpus ? static_cast<int>(std::clamp(UsableCores(), 1.0, kMaxThreads))
                                : 1);
}

absl::StatusOr<ProfiledFlow> ProfileFlow(const LearnerOptions& options, const FlowTaskOptions& task,
                                         int runs, const std::stop_token& stop,
                                         std::function<void(int, int)> on_sample) {
  // Before any other LibTorch call; see ChooseDevices().
  MILLRACE_ASSIGN_OR_RETURN(const DeviceChoice choice, ChooseDevices(options.devices));
  SetPriorThreads(choice.names);
  MILLRACE_ASSIGN_OR_RETURN(const std::vector<at::Device> devices, FindDevices(choice.names));
  MILLRACE_ASSIGN_OR_RETURN(const FlowNetworkInput shape, FlowNetworkInputOf(task.network));
  ProfiledFlow flow;
  MILLRACE_ASSIGN_OR_RETURN(flow.chain, OpenFlowChain(options, task));
  at::set_num_threads(options.threads_per_stage);
  const at::Tensor input =
      at::rand({PictureCount(PairsFor(task)), shape.channels, options.height, options.width},
               at::make_generator<at::CPUGeneratorImpl>(options.seed));
  flow.costs = ProfileLayers(
      flow.chain, input,
      [&](const at::Tensor& output) {
        return LossFor(task, input.to(output.device()), output).objective;
      },
      {.runs = runs, .device = devices.front(), .on_sample = std::move(on_sample), .stop = stop});
  if (stop.stop_requested()) {
    return absl::CancelledError("stopped while the layers were measured");
  }
  // Pictures are admitted as bytes; the first stage makes numbers of them (BytesOf()).
  constexpr double kBytesPerPixel = 3;
  flow.costs.input_bytes = kBytesPerPixel * static_cast<double>(PictureCount(PairsFor(task))) *
                           options.height * options.width;
  return flow;
}

}  // namespace millrace::pipeline
