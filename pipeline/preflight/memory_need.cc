#include "pipeline/preflight/memory_need.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ops/zeros.h>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "base/exception_to_status.h"
#include "base/foreign_error.h"
#include "base/mutex.h"
#include "base/status.h"
#include "pipeline/device/device_choice.h"
#include "pipeline/flow/flow_options.h"
#include "pipeline/flow/flow_profile.h"
#include "pipeline/flow/flow_task.h"
#include "pipeline/labels/label_networks.h"
#include "pipeline/learner/device_names.h"
#include "pipeline/learner/flow_network_names.h"
#include "pipeline/planner/partition.h"
#include "pipeline/planner/plan_memory.h"
#include "pipeline/recovery/snapshot_store.h"
#include "pipeline/schedules/schedules.h"
#include "pipeline/stages/profile_layers.h"

namespace millrace::pipeline {
namespace {

using Layers = std::vector<LayerProfile>;

// The smallest side that every network accepts (CheckFlowOptions()).
constexpr int kSmallSide = 64;
// Copies of the weights, besides the unproven ones: the last good copy, the restored copy, one in
// preparation, one being written.
constexpr double kOtherCopies = 4;
// Memory cached by allocators, and temporary memory of operators, as measured. The operators of
// flow temporarily take twice the memory of their results, and DIS has its own.
constexpr double kOverhead = 1.2;
constexpr double kOverheadOfFlow = 3.2;

/// How the layers are used.
struct Use {
  int stages = 1;
  Cuts cuts = {};
  std::string schedule = {};
  ScheduleRequest request = {};
  /// Numbers that the optimizer keeps for each weight.
  double kept_of_weights = 1;
  /// The largest number of copies that have not proven good yet.
  double unproven = 4;
  double overhead = kOverhead;  // For everything except weights.
};

double Sum(const Layers& layers, double LayerProfile::*bytes) {
  return std::accumulate(layers.begin(), layers.end(), 0.0,
                         [bytes](double sum, const LayerProfile& l) { return sum + l.*bytes; });
}

double Max(const Layers& layers, double LayerProfile::*bytes) {
  double max = 0;
  for (const LayerProfile& layer : layers) max = std::max(max, layer.*bytes);
  return max;
}

/// The bytes of all stages under the schedule. Without cuts, assumes equal costs of all layers,
/// because no layer has been timed.
absl::StatusOr<double> HeldByStages(const Layers& layers, const Use& use) {
  const auto count = static_cast<int>(layers.size());
  Cuts cuts = use.cuts;
  if (cuts.empty()) {
    MILLRACE_ASSIGN_OR_RETURN(cuts, BestCuts(std::vector<StageCost>(count, {.forward = 1}),
                                             std::clamp(use.stages, 1, count)));
  }
  MILLRACE_RETURN_IF_ERROR(CheckCuts(cuts, count));
  ScheduleRequest request = use.request;
  request.shape = {.stages = static_cast<int>(cuts.size()) + 1, .skips = {}};
  request.costs.assign(cuts.size() + 1, kAssumedCost);
  request.period = 0;
  MILLRACE_ASSIGN_OR_RETURN(const Phases phases, MakePhases(use.schedule, request));
  double max = 0;
  for (const Phase& phase : phases) {
    const std::vector<double> bytes = DeviceBytes(phase.plan, layers, cuts);
    max = std::max(max, std::accumulate(bytes.begin(), bytes.end(), 0.0));
  }
  return max;
}

Layers Without(Layers layers, const std::vector<double LayerProfile::*>& bytes) {
  for (LayerProfile& layer : layers) {
    for (double LayerProfile::*of : bytes) layer.*of = 0;
  }
  return layers;
}

/// The bytes of weights, and of samples; each has its own overhead.
absl::StatusOr<double> NeedOf(const Layers& layers, const Use& use) {
  const double weights = Sum(layers, &LayerProfile::weight_bytes);
  MILLRACE_ASSIGN_OR_RETURN(
      const double versions,
      HeldByStages(Without(layers, {&LayerProfile::activation_bytes, &LayerProfile::output_bytes}),
                   use));
  const double with_state = weights * (1 + use.kept_of_weights);
  const double second = weights;  // The network for Predict().
  const double all_weights =
      versions + with_state + second + (use.unproven + kOtherCopies) * with_state;

  const double widest = Max(layers, &LayerProfile::output_bytes);
  MILLRACE_ASSIGN_OR_RETURN(const double samples,
                            HeldByStages(Without(layers, {&LayerProfile::weight_bytes}), use));
  // One sample through all layers, each as a stage.
  const double measuring = Sum(layers, &LayerProfile::activation_bytes);
  return kOverhead * all_weights + use.overhead * (std::max(samples, measuring) + 4 * widest);
}

/// The costs of the networks' layers for a small picture, measured once for each network.
class KnownNetworks {
 public:
  absl::StatusOr<Layers> Of(const LearnerOptions& small, const FlowTaskOptions& task,
                            const std::stop_token& stop) ABSL_LOCKS_EXCLUDED(mu_) {
    const std::string key = absl::StrCat(task.network, " ", static_cast<int>(task.precision), " ",
                                         static_cast<int>(task.loss.kind), " ",
                                         task.loss.occlusion ? 1 : 0, " ", task.next_frame ? 1 : 0);
    {
      const MutexLock lock(mu_);
      if (const auto found = known_.find(key); found != known_.end()) return found->second;
    }
    MILLRACE_ASSIGN_OR_RETURN(Layers layers, Measure(small, task, stop));
    const MutexLock lock(mu_);
    return known_[key] = std::move(layers);
  }

  static absl::StatusOr<Layers> Measure(const LearnerOptions& options, const FlowTaskOptions& task,
                                        const std::stop_token& stop) {
    MILLRACE_ASSIGN_OR_RETURN(const FlowNetworkInput shape, FlowNetworkInputOf(task.network));
    MILLRACE_ASSIGN_OR_RETURN(const LayerChain chain, OpenFlowChain(options, task));
    const at::Tensor input =
        at::zeros({PictureCount(PairsFor(task)), shape.channels, options.height, options.width});
    Layers layers = MeasureMemory(
        chain, input,
        [&](const at::Tensor& output) { return LossFor(task, input, output).objective; }, stop);
    if (stop.stop_requested()) return absl::CancelledError("the learner is not wanted");
    return layers;
  }

 private:
  Mutex mu_;
  std::map<std::string, Layers> known_ ABSL_GUARDED_BY(mu_);
};

absl::StatusOr<Layers> LayersOf(LearnerOptions options, const FlowTaskOptions& task,
                                const std::stop_token& stop) {
  static KnownNetworks known;
  options.weights.clear();
  if (IsNetworkFile(task.network)) return KnownNetworks::Measure(options, task, stop);
  const double times = static_cast<double>(options.width) * options.height /
                       (static_cast<double>(kSmallSide) * kSmallSide);
  options.width = options.height = kSmallSide;
  MILLRACE_ASSIGN_OR_RETURN(Layers layers, known.Of(options, task, stop));
  for (LayerProfile& layer : layers) {
    layer.activation_bytes *= times;
    layer.output_bytes *= times;
  }
  return layers;
}

Use UseOf(const LearnerOptions& options, const DivergenceOptions& divergence) {
  return {.stages = options.stages,
          .cuts = options.cuts,
          // For "auto", the planner chooses stages and order.
          .schedule = options.schedule == "auto" ? "one_f_one_b_star" : options.schedule,
          .request = options.request,
          .kept_of_weights = static_cast<double>(OptimizerStateTensors(options.optimizer)),
          .unproven = static_cast<double>(MaxUnproven(divergence.window, options.copy_every))};
}

absl::StatusOr<double> FlowNeed(const LearnerOptions& options, const FlowTaskOptions& task,
                                const std::stop_token& stop) {
  MILLRACE_RETURN_IF_ERROR(CheckFlowOptions(options, task));
  MILLRACE_ASSIGN_OR_RETURN(const DeviceChoice choice, ChooseDevices(options.devices));
  SetPriorThreads(choice.names);
  MILLRACE_ASSIGN_OR_RETURN(Layers layers, LayersOf(options, task, stop));
  const bool on_gpu = std::ranges::any_of(
      choice.names, [](const std::string& name) { return GpuNumber(name).has_value(); });
  for (LayerProfile& layer : layers) {
    if (on_gpu) layer.activation_bytes = layer.output_bytes = 0;
  }
  Use use = UseOf(options, task.learning.divergence);
  use.overhead = kOverheadOfFlow;
  return NeedOf(layers, use);
}

absl::StatusOr<Layers> LayersOf(LearnerOptions options, const LabelTaskOptions& task,
                                const std::stop_token& stop) {
  if (task.model.empty()) return DescribeLabelNetwork(options, task);
  options.weights.clear();
  MILLRACE_ASSIGN_OR_RETURN(const NetworkWithState opened, OpenLabelNetwork(options, task));
  std::vector<std::int64_t> shape = SampleShape(options, task);
  shape.insert(shape.begin(), task.window);
  Layers layers = MeasureMemory(
      opened.chain, at::zeros(shape),
      [](const at::Tensor& output) { return output.square().mean(); }, stop);
  if (stop.stop_requested()) return absl::CancelledError("the learner is not wanted");
  return layers;
}

absl::StatusOr<double> LabelNeed(const LearnerOptions& options, const LabelTaskOptions& task,
                                 const std::stop_token& stop) {
  MILLRACE_ASSIGN_OR_RETURN(const Layers layers, LayersOf(options, task, stop));
  return NeedOf(layers, UseOf(options, task.divergence.value_or(kLabelDivergence)));
}

template <typename Task>
absl::StatusOr<double> SayingWhatWasThrown(
    absl::StatusOr<double> (*reckon)(const LearnerOptions&, const Task&, const std::stop_token&),
    const LearnerOptions& options, const Task& task, const std::stop_token& stop) {
  return ExceptionToStatus([&] { return reckon(options, task, stop); }, InvalidCause);
}

}  // namespace

absl::StatusOr<double> MemoryNeedOf(const LearnerOptions& options, const FlowTaskOptions& task,
                                    const std::stop_token& stop) {
  return SayingWhatWasThrown(FlowNeed, options, task, stop);
}

absl::StatusOr<double> MemoryNeedOf(const LearnerOptions& options, const LabelTaskOptions& task,
                                    const std::stop_token& stop) {
  return SayingWhatWasThrown(LabelNeed, options, task, stop);
}

}  // namespace millrace::pipeline
