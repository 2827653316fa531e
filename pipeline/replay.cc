#include "pipeline/replay.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/atomic_file.h"
#include "base/status.h"
#include "pipeline/cost_profile.h"
#include "pipeline/foreign_error.h"
#include "pipeline/partition.h"
#include "pipeline/phased_engine.h"
#include "pipeline/replay_loss.h"
#include "pipeline/replay_samples.h"
#include "pipeline/stage_buffers.h"
#include "pipeline/staged_network.h"
#include "pipeline/tensor_file.h"
#include "pipeline/torchscript_chain.h"

namespace millrace::pipeline {
namespace {

absl::StatusOr<Cuts> CutsOf(const std::vector<int>& stages, int layers) {
  if (stages.empty()) return Cuts{};
  return CutsInto(stages, layers);
}

void RunStepOf(StagedNetwork& network, const Step& step) {
  try {
    network.Run(step);
  } catch (const std::exception& e) {
    throw std::runtime_error(CauseLine(e.what()));
  }
}

// One replay, from loaded files to the file of results.
class Replaying {
 public:
  Replaying(const ReplayOptions& options, TorchScriptChain network, ReplaySamples samples,
            Cuts cuts, ReplayLoss loss)
      : options_(options),
        network_(std::move(network)),
        samples_(std::move(samples)),
        cuts_(std::move(cuts)),
        loss_(loss),
        outputs_(samples_.count()),
        losses_(at::empty({samples_.count()}, at::kFloat)) {}

  // Runs one sample through, to find what does not fit before anything learns.
  absl::Status Try() {
    const Stage whole = WholeChain(network_.chain);
    const TensorValues found(whole.buffers());
    absl::Status tried = TryStages();
    found.PutInto(whole.buffers());
    return tried;
  }

  absl::StatusOr<Phases> Plans() {
    ScheduleRequest request = options_.request;
    request.shape = ShapeOf(network_.chain, cuts_);
    if (request.period > 0) {
      const auto objective = [this](const at::Tensor& output) {
        return loss_(output, samples_.target(0));
      };
      const NetworkCosts costs = ProfileLayers(network_.chain, samples_.input(0), objective);
      request.costs = StageCosts(CostsOf(costs.layers), cuts_);
      for (StageCost& cost : request.costs) cost.copy = 0;  // Threads hand tensors over.
    } else {
      request.costs.assign(request.shape.stages, {.forward = 1, .backward = 2, .update = 0});
    }
    return MakePhases(options_.schedule, request);
  }

  absl::StatusOr<ReplaySummary> Run(const Phases& phases) {
    StagedNetwork staged(
        {.chain = network_.chain,
         .cuts = cuts_,
         .plan = phases.front().plan,
         .judge = [this](const Judgement& made) { return Judge(made); },
         .local_objective =
             [this](int /*stage*/, std::int64_t sample, const at::Tensor& /*input*/,
                    const at::Tensor& output) { return loss_(output, samples_.target(sample)); },
         .optimizer = options_.optimizer,
         .learning_rates = {},
         .seed = options_.seed});
    MILLRACE_ASSIGN_OR_RETURN(const auto engine, EngineFor(phases, staged));
    for (std::int64_t i = 0; i < samples_.count(); ++i) {
      const auto admit = [&](std::int64_t number) { staged.Admit(number, samples_.input(i)); };
      MILLRACE_RETURN_IF_ERROR(engine->Admit(admit).status());
    }
    MILLRACE_RETURN_IF_ERROR(engine->Drain());
    ReplaySummary summary{
        .samples = samples_.count(), .stages = phases.front().plan.stage_count(), .phases = phases};
    const std::int64_t tenth = std::max<std::int64_t>(1, samples_.count() / 10);
    summary.first_loss = losses_.narrow(0, 0, tenth).mean().item<double>();
    summary.last_loss = losses_.narrow(0, samples_.count() - tenth, tenth).mean().item<double>();
    for (const std::int64_t updates : staged.updates()) summary.updates += updates;
    return summary;
  }

  absl::Status Write() const {
    NamedTensors results = {{"outputs", at::cat(outputs_)},
                            {"samples", at::arange(samples_.count(), at::kLong)},
                            {"losses", losses_}};
    for (const NamedTensors* named : {&network_.parameters, &network_.buffers}) {
      for (const auto& [name, tensor] : *named) results.emplace_back("weights." + name, tensor);
    }
    return WriteTensors(options_.output, results);
  }

 private:
  absl::Status TryStages() const {
    const at::NoGradGuard no_graph;
    Tensors passed = {samples_.input(0)};
    int number = 0;
    for (const Stage& stage : CutIntoStages(network_.chain, cuts_)) {
      ++number;
      try {
        passed = stage.Forward(passed, options_.seed);
      } catch (const std::exception& e) {
        return absl::InvalidArgumentError(absl::StrCat(
            "stage ", number, " of the network refuses the first input: ", CauseLine(e.what())));
      }
      const bool last = number == static_cast<int>(cuts_.size()) + 1;
      if (!last && options_.schedule != "local") continue;
      const std::string what =
          last ? std::string("the network")
               : absl::StrCat("stage ", number, ", which schedule local gives its own loss,");
      MILLRACE_RETURN_IF_ERROR(loss_.CheckFits(passed[0], samples_.targets, what));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<PhasedEngine>> EngineFor(const Phases& phases,
                                                          StagedNetwork& staged) const {
    RunRecorder* const recorder = options_.recorder;
    RunStep run = [&staged](const Step& step) { RunStepOf(staged, step); };
    if (recorder != nullptr) {
      recorder->Begin(phases.front().plan, phases.front().first_sample);
      run = recorder->Recording(std::move(run));
    }
    return PhasedEngine::Start(
        {.phases = phases,
         .run = std::move(run),
         .on_worker_start = [this](int) { at::set_num_threads(options_.threads_per_stage); },
         .on_switch =
             [&staged, recorder](const Phase& phase) {
               staged.Switch(phase.plan, phase.first_sample);
               if (recorder != nullptr) recorder->Begin(phase.plan, phase.first_sample);
             }});
  }

  // On the last stage's thread. Each sample has a place of its own.
  at::Tensor Judge(const Judgement& made) {
    at::Tensor loss = loss_(made.output, samples_.target(made.sample));
    if (made.again) return loss;
    outputs_[made.sample] = made.output.detach();
    losses_.data_ptr<float>()[made.sample] = loss.item<float>();
    return loss;
  }

  const ReplayOptions& options_;
  const TorchScriptChain network_;
  const ReplaySamples samples_;
  const Cuts cuts_;
  const ReplayLoss loss_;
  std::vector<at::Tensor> outputs_;
  at::Tensor losses_;
};

}  // namespace

absl::StatusOr<ReplaySummary> Replay(const ReplayOptions& options) {
  MILLRACE_RETURN_IF_ERROR(CheckOptimizer(options.optimizer));
  MILLRACE_ASSIGN_OR_RETURN(const ReplayLoss loss, ReplayLoss::Named(options.loss));
  if (options.threads_per_stage < 1) {
    return absl::InvalidArgumentError("a stage needs at least one thread");
  }
  MILLRACE_ASSIGN_OR_RETURN(TorchScriptChain network, LoadTorchScriptChain(options.model));
  MILLRACE_ASSIGN_OR_RETURN(ReplaySamples samples, ReadSamples(options.samples));
  MILLRACE_ASSIGN_OR_RETURN(Cuts cuts,
                            CutsOf(options.stages, static_cast<int>(network.chain.layers.size())));
  MILLRACE_RETURN_IF_ERROR(CheckWritable(options.output));
  at::set_num_threads(options.threads_per_stage);
  Replaying replaying(options, std::move(network), std::move(samples), std::move(cuts), loss);
  try {
    MILLRACE_RETURN_IF_ERROR(replaying.Try());
    MILLRACE_ASSIGN_OR_RETURN(const Phases phases, replaying.Plans());
    MILLRACE_ASSIGN_OR_RETURN(const ReplaySummary summary, replaying.Run(phases));
    MILLRACE_RETURN_IF_ERROR(replaying.Write());
    return summary;
  } catch (const std::exception& e) {
    return absl::InternalError(CauseLine(e.what()));
  }
}

}  // namespace millrace::pipeline
