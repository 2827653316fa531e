// The learner of optical flow: the flow network, cut by measured cost, run by the engine.

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "pipeline/finite.h"
#include "pipeline/flow_loss.h"
#include "pipeline/flow_network.h"
#include "pipeline/flow_profile.h"
#include "pipeline/learner.h"
#include "pipeline/partition.h"
#include "pipeline/phased_engine.h"
#include "pipeline/plan_checker.h"
#include "pipeline/planner.h"
#include "pipeline/schedules.h"
#include "pipeline/simulator.h"
#include "pipeline/staged_network.h"

namespace millrace::pipeline {
namespace {

constexpr int kLeastSide = 64;
constexpr int kProfiledSamples = 7;

absl::Status CheckOptions(const FlowLearnerOptions& options) {
  for (int side : {options.width, options.height}) {
    if (side < kLeastSide || side % kFlowSizeMultiple != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the model's input size is ", options.width, "x", options.height,
          "; both sides must be multiples of ", kFlowSizeMultiple, " and at least ", kLeastSide));
    }
  }
  if (options.threads_per_stage < 1) {
    return absl::InvalidArgumentError("a stage needs at least one thread");
  }
  if (!(options.learning_rate >= 0)) {
    return absl::InvalidArgumentError("the learning rate must not be negative");
  }
  if (options.schedule == "auto" && !(options.frames_per_second > 0)) {
    return absl::InvalidArgumentError(
        "the schedule auto plans for a frame rate: say the camera's frames_per_second");
  }
  if (!(options.smoothness >= 0)) {
    return absl::InvalidArgumentError("the smoothness must not be negative");
  }
  if (!options.cuts.empty() && static_cast<int>(options.cuts.size()) != options.stages - 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.stages, " stages have ", options.stages - 1, " cuts, not ", options.cuts.size()));
  }
  if (options.schedule == "local") {
    return absl::InvalidArgumentError(
        "schedule local needs a loss for every stage, and optical flow has one for the last stage "
        "only; use another schedule, such as one_f_one_b_star");
  }
  return absl::OkStatus();
}

// Two pictures as the network reads them: grey [2, 1, height, width] in 0..1, previous then
// current.
at::Tensor GreyPair(const PicturePair& pair, int width, int height) {
  at::Tensor grey = at::empty({2, 1, height, width}, at::kFloat);
  float* out = grey.data_ptr<float>();
  for (std::span<const std::uint8_t> rgb : {pair.previous, pair.current}) {
    for (std::size_t i = 0; i < rgb.size(); i += 3) {
      const auto red = static_cast<float>(rgb[i]);
      const auto green = static_cast<float>(rgb[i + 1]);
      const auto blue = static_cast<float>(rgb[i + 2]);
      *out++ = (0.299F * red + 0.587F * green + 0.114F * blue) / 255.0F;  // Luma of ITU-R BT.601.
    }
  }
  return grey;
}

// [1, 2, height, width] as (dx, dy) for every pixel.
std::shared_ptr<const std::vector<float>> Interleaved(const at::Tensor& flow) {
  const at::Tensor pixels = flow.detach().squeeze(0).permute({1, 2, 0}).contiguous();
  const float* data = pixels.data_ptr<float>();
  return std::make_shared<const std::vector<float>>(data, data + pixels.numel());
}

struct CutNetwork {
  LayerChain chain;
  Cuts cuts;
  std::vector<StageCost> costs;
  // Of "auto": the plan, and from which samples there is time to learn.
  std::optional<Plan> plan = {};
  int update_every = 1;
};

// A start-up beside other work measures more spread than there will be; what is dropped decides
// later.
constexpr double kUsualSpread = 0.1;
constexpr double kMostSpread = 0.25;

// Cuts and plans for the camera's frame rate.
absl::Status PlanForTheRate(const FlowLearnerOptions& options, const std::vector<StageCost>& layers,
                            std::optional<double> spread, CutNetwork& network) {
  MILLRACE_ASSIGN_OR_RETURN(
      PlannedPipeline planned,
      PlanFor({.layers = layers,
               .skips_of = [&](const Cuts& cuts) { return ShapeOf(network.chain, cuts).skips; },
               .interval = 1000 / options.frames_per_second,
               .devices = options.stages,
               .spread = std::min(spread.value_or(kUsualSpread), kMostSpread)}));
  network.cuts = std::move(planned.cuts);
  network.plan = std::move(planned.plan);
  network.update_every = planned.effort.update_every;
  return absl::OkStatus();
}

absl::StatusOr<Phases> PhasesOf(const FlowLearnerOptions& options, const CutNetwork& network) {
  if (network.plan) return Phases{{.plan = *network.plan}};
  MILLRACE_ASSIGN_OR_RETURN(const Recompute recompute, RecomputeNamed(options.recompute));
  return MakePhases(options.schedule, {.shape = ShapeOf(network.chain, network.cuts),
                                       .costs = network.costs,
                                       .period = options.period_ms,
                                       .samples = options.samples,
                                       .recompute = recompute,
                                       .switch_at = options.switch_at});
}

std::vector<StageCost> InSeconds(std::vector<StageCost> costs) {
  for (StageCost& cost : costs) {
    cost = {.forward = cost.forward / 1000,
            .backward = cost.backward / 1000,
            .update = cost.update / 1000,
            .copy = cost.copy / 1000};
  }
  return costs;
}

absl::StatusOr<CutNetwork> BuildAndCut(const FlowLearnerOptions& options) {
  MILLRACE_ASSIGN_OR_RETURN(ProfiledFlow profiled, ProfileFlow(options, kProfiledSamples));
  std::vector<StageCost> by_layer = CostsOf(profiled.costs.layers);
  for (StageCost& cost : by_layer) cost.copy = 0;  // Threads hand tensors over as they are.
  CutNetwork network{std::move(profiled.chain), options.cuts, {}};
  MILLRACE_RETURN_IF_ERROR(CheckCuts(network.cuts, static_cast<int>(by_layer.size())));
  if (options.schedule == "auto") {
    MILLRACE_RETURN_IF_ERROR(PlanForTheRate(options, by_layer, profiled.costs.spread, network));
  } else if (network.cuts.empty()) {
    MILLRACE_ASSIGN_OR_RETURN(network.cuts, BestCuts(by_layer, options.stages));
  }
  network.costs = StageCosts(by_layer, network.cuts);
  return network;
}

// The device on which `stage` goes forward.
std::size_t DeviceOf(const Plan& plan, std::size_t stage) {
  for (std::size_t device = 0; device < plan.devices.size(); ++device) {
    for (const Operation& operation : plan.devices[device]) {
      const bool forward = operation.kind == OperationKind::kForward;
      if (forward && operation.stage == static_cast<int>(stage)) return device;
    }
  }
  return 0;
}

absl::StatusOr<LearnerDescription> Describe(const FlowLearnerOptions& options,
                                            const CutNetwork& network, const Plan& plan) {
  LearnerDescription description{
      .schedule = plan.schedule, .width = options.width, .height = options.height, .stages = {}};
  MILLRACE_ASSIGN_OR_RETURN(const std::vector<StageFigures> figures, CheckPlan(plan));
  const std::vector<Stage> stages = CutIntoStages(network.chain, network.cuts);
  double in_all_ms = 0;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const StageCost& cost = network.costs[i];
    description.stages.push_back({.layers = stages[i].layer_names(),
                                  .device = absl::StrCat("cpu:", DeviceOf(plan, i + 1)),
                                  .forward_ms = cost.forward,
                                  .backward_ms = cost.backward,
                                  .update_ms = cost.update,
                                  .staleness = figures[i].staleness,
                                  .mismatch = figures[i].mismatch});
    in_all_ms += cost.total();
  }
  MILLRACE_ASSIGN_OR_RETURN(const double period_ms, SteadyPeriod(plan, network.costs));
  MILLRACE_ASSIGN_OR_RETURN(const SteadyFigures steady, Steady(plan, network.costs, period_ms));
  description.delay_ms = steady.delay;
  description.samples_per_second = 1000 / period_ms;
  description.sequential_samples_per_second = 1000 / in_all_ms;
  return description;
}

// Names the worker's thread, for ps, top and gdb; threads that LibTorch starts from it inherit
// that.
void PrepareWorker(int device, int threads) {
  pthread_setname_np(pthread_self(), absl::StrCat("stage ", device + 1).c_str());
  at::set_num_threads(threads);
}

class FlowLearner final : public Learner {
 public:
  static absl::StatusOr<std::unique_ptr<Learner>> Make(const FlowLearnerOptions& options,
                                                       OnPrediction on_prediction) {
    MILLRACE_RETURN_IF_ERROR(CheckOptions(options));
    MILLRACE_ASSIGN_OR_RETURN(CutNetwork network, BuildAndCut(options));
    MILLRACE_ASSIGN_OR_RETURN(Phases phases, PhasesOf(options, network));
    MILLRACE_ASSIGN_OR_RETURN(LearnerDescription description,
                              Describe(options, network, phases.front().plan));

    std::unique_ptr<FlowLearner> learner(new FlowLearner(options, std::move(on_prediction)));
    learner->description_ = std::move(description);
    learner->description_.update_every = network.update_every;
    learner->learn_from_every_ = network.update_every;
    MILLRACE_RETURN_IF_ERROR(learner->Start(std::move(network), std::move(phases)));
    return learner;
  }

  absl::StatusOr<std::int64_t> Admit(const PicturePair& pair) override {
    const std::size_t bytes = std::size_t{3} * options_.width * options_.height;
    if (pair.previous.size() != bytes || pair.current.size() != bytes) {
      return absl::InvalidArgumentError(absl::StrCat("pictures of ", pair.previous.size(), " and ",
                                                     pair.current.size(), " bytes are not ",
                                                     options_.width, "x", options_.height, " RGB"));
    }
    const at::Tensor input = GreyPair(pair, options_.width, options_.height);
    return engine_->Admit([&](std::int64_t sample) { network_->Admit(sample, input); });
  }

  absl::Status AwaitRoom() override { return engine_->AwaitRoom(); }
  void LearnFromEvery(int n) override { learn_from_every_ = n; }
  absl::Status Drain() override { return engine_->Drain(); }
  [[nodiscard]] const LearnerDescription& description() const override { return description_; }
  [[nodiscard]] std::vector<std::int64_t> updates() const override { return network_->updates(); }

 private:
  FlowLearner(const FlowLearnerOptions& options, OnPrediction on_prediction)
      : options_(options), on_prediction_(std::move(on_prediction)) {}

  absl::Status Start(CutNetwork network, Phases phases) {
    std::vector<StageCost> gate_costs;
    if (options_.gate) gate_costs = InSeconds(network.costs);
    chain_ = std::move(network.chain);
    network_ = std::make_unique<StagedNetwork>(
        StagedNetwork::Options{.chain = chain_,
                               .cuts = std::move(network.cuts),
                               .plan = phases.front().plan,
                               .judge = [this](const Judgement& made) { return Judge(made); },
                               .optimizer = {.learning_rate = options_.learning_rate}});
    MILLRACE_ASSIGN_OR_RETURN(
        engine_,
        PhasedEngine::Start({.phases = std::move(phases),
                             .run = [this](const Step& step) { network_->Run(step); },
                             .on_worker_start = [threads = options_.threads_per_stage](
                                                    int device) { PrepareWorker(device, threads); },
                             .gate_costs = std::move(gate_costs),
                             .on_switch =
                                 [this](const Phase& phase) {
                                   network_->Switch(phase.plan, phase.first_sample);
                                 }}));
    return absl::OkStatus();
  }

  // Scores the flow before anything learns from its sample, and hands it over.
  at::Tensor Judge(const Judgement& made) {
    const FlowLoss loss = ComputeFlowLoss(made.input, made.output, options_.smoothness);
    if (made.again) return Learns(made.sample) ? loss.objective : at::Tensor();
    const auto photometric = loss.photometric.item<float>();
    const auto no_motion = loss.no_motion.item<float>();
    on_prediction_({.sample = made.sample,
                    .width = options_.width,
                    .height = options_.height,
                    .flow = Interleaved(made.output),
                    .loss = photometric,
                    .loss_no_motion = no_motion,
                    .updates = network_->updates().back(),
                    .finite = std::isfinite(photometric) && std::isfinite(no_motion) &&
                              AllFinite(made.output)});
    return Learns(made.sample) ? loss.objective : at::Tensor();
  }

  [[nodiscard]] bool Learns(std::int64_t sample) const {
    const int every = learn_from_every_;
    return every > 0 && sample % every == 0;
  }

  // Constant after Make().
  const FlowLearnerOptions options_;
  const OnPrediction on_prediction_;
  LearnerDescription description_;

  std::atomic<int> learn_from_every_ = 1;
  LayerChain chain_;
  std::unique_ptr<StagedNetwork> network_;
  std::unique_ptr<PhasedEngine> engine_;  // Last: its workers use the network.
};

}  // namespace

absl::StatusOr<std::unique_ptr<Learner>> MakeFlowLearner(const FlowLearnerOptions& options,
                                                         OnPrediction on_prediction) {
  return FlowLearner::Make(options, std::move(on_prediction));
}

}  // namespace millrace::pipeline
