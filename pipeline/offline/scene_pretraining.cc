#include "pipeline/offline/scene_pretraining.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numbers>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ATen/TensorOperators.h>

#include "absl/strings/str_cat.h"
#include "base/bounded_queue.h"
#include "base/check.h"
#include "base/plural.h"
#include "base/status.h"
#include "pipeline/device/one_thread.h"
#include "pipeline/flow/flow_loss.h"
#include "pipeline/models/open_flow_network.h"
#include "pipeline/nn/network_state.h"
#include "pipeline/nn/stage.h"
#include "pipeline/nn/weights_file.h"
#include "pipeline/offline/pretrain_report.h"
#include "pipeline/optim/optimizer.h"
#include "pipeline/recovery/checkpoints.h"
#include "pipeline/scenes/photo_scenes.h"

namespace millrace::pipeline {
namespace {

constexpr std::int64_t kPairsPerStep = 4;
constexpr std::int64_t kWarmUpSteps = 200;
constexpr std::int64_t kStepsPerCheckpoint = 500;
constexpr double kMinRateShare = 0.02;
// The largest gradient of a layer; a larger one is scaled down.
constexpr double kClipNorm = 1;

/// The pairs of a list from `first` on, made ahead on a thread of its own.
class PairsAhead {
 public:
  PairsAhead(const PhotoScenes& scenes, std::int64_t first)
      : thread_([this, &scenes, first] {
          for (std::int64_t number = first; pairs_.PushOrWait(scenes.Make(number)); ++number) {
          }
        }) {}
  ~PairsAhead() { pairs_.Close(); }
  PairsAhead(const PairsAhead&) = delete;
  PairsAhead& operator=(const PairsAhead&) = delete;

  [[nodiscard]] GeneratedPair Next() {
    std::optional<GeneratedPair> pair = pairs_.Pop();
    MILLRACE_CHECK(pair.has_value());
    return *std::move(pair);
  }

 private:
  BoundedQueue<GeneratedPair> pairs_{2 * kPairsPerStep};
  std::jthread thread_;  // Last: it uses the queue.
};

/// [n, height, width]: the distance of each pixel's flow from the true one.
at::Tensor ErrorOf(const at::Tensor& flow, const at::Tensor& truth) {
  constexpr double kSmooth = 1e-6;  // The root has a gradient at zero, too.
  return (flow - truth).square().sum(1).add(kSmooth).sqrt();
}

/// The learning rate of a step, relative to the configured one.
double RateShare(std::int64_t step, std::int64_t steps) {
  const double warm_up = std::min(1.0, static_cast<double>(step + 1) / kWarmUpSteps);
  const double done = static_cast<double>(step) / static_cast<double>(steps);
  const double cosine = (1 + std::cos(std::numbers::pi * done)) / 2;
  return warm_up * (kMinRateShare + (1 - kMinRateShare) * cosine);
}

/// The network, an optimizer for each layer, and the number of steps so far.
class SceneTrainer {
 public:
  SceneTrainer(const PretrainOptions& options, const LayerChain& network)
      : options_(options),
        network_(network),
        whole_(WholeChain(network)),
        channels_(FlowNetworkInputOf(options.network)->channels) {
    const OptimizerOptions adam = {.kind = OptimizerOptions::Kind::kAdam,
                                   .learning_rate = options.learning_rate,
                                   .clip_norm = kClipNorm};
    for (const auto& layer : network.layers) {
      optimizers_.push_back(MakeOptimizer(adam, layer->parameters()));
    }
  }

  [[nodiscard]] std::int64_t pairs() const { return kPairsPerStep * step_; }

  /// Continues from the newest checkpoint, if the options name a folder and it has one.
  absl::Status Resume() {
    if (options_.checkpoints.empty()) return absl::OkStatus();
    MILLRACE_ASSIGN_OR_RETURN(
        checkpoints_, Checkpoints::Open({.folder = options_.checkpoints, .keep = 1}, network_));
    MILLRACE_ASSIGN_OR_RETURN(Checkpoints::Found found, checkpoints_->Read());
    if (!found.newest) return absl::OkStatus();
    if (found.newest->facts != Facts()) {
      return absl::FailedPreconditionError(
          absl::StrCat(found.folder, " is of other options; name another folder, or remove it"));
    }
    const NetworkState& state = found.newest->network;
    RestoreValues(state.layers, network_);
    for (std::size_t i = 0; i < optimizers_.size(); ++i) {
      optimizers_[i]->set_state(state.layers[i].optimizer);
    }
    step_ = (state.sample + 1) / kPairsPerStep;
    return absl::OkStatus();
  }

  /// Writes a checkpoint, if the options name a folder.
  absl::Status Save() {
    if (!checkpoints_) return absl::OkStatus();
    Checkpoint checkpoint;
    checkpoint.network.sample = pairs() - 1;
    for (std::size_t i = 0; i < optimizers_.size(); ++i) {
      checkpoint.network.layers.push_back(ValuesOf(*network_.layers[i]));
      checkpoint.network.layers.back().optimizer = optimizers_[i]->state();
    }
    checkpoint.facts = Facts();
    return checkpoints_->Write(checkpoint);
  }

  /// Ends early.
  absl::Status Stop() {
    MILLRACE_RETURN_IF_ERROR(Save());
    return absl::CancelledError(absl::StrCat("stopped after ", Plural(pairs(), "frame"), "; ",
                                             options_.output, " not written",
                                             checkpoints_ ? "; the same command continues" : ""));
  }

  /// Learns from the next pairs. Adds their scores to `report`. Saves now and then.
  absl::Status Step(PairsAhead& pairs, PretrainReport& report) {
    const std::int64_t steps = std::max<std::int64_t>(1, options_.frames / kPairsPerStep);
    for (std::int64_t i = 0; i < kPairsPerStep; ++i) {
      const GeneratedPair pair = pairs.Next();
      const at::Tensor pictures =
          pair.pictures.expand({2, channels_, options_.height, options_.width});
      const at::Tensor flow = whole_.Forward({pictures})[0];
      const at::Tensor error = ErrorOf(flow, pair.flow);
      report.Add(ComputeFlowLoss(pictures, flow.detach(), {}), flow.detach(), pair.flow);
      ((error + 0.01).sqrt().mean() / static_cast<double>(kPairsPerStep)).backward();
    }
    for (const auto& optimizer : optimizers_) {
      optimizer->set_rate_scale(RateShare(step_, steps));
      optimizer->Step();
    }
    ++step_;
    return step_ % kStepsPerCheckpoint == 0 ? Save() : absl::OkStatus();
  }

  [[nodiscard]] std::int64_t skipped_updates() const {
    std::int64_t skipped = 0;
    for (const auto& optimizer : optimizers_) skipped += optimizer->counts().skipped;
    return skipped;
  }

 private:
  // All that decides the weights.
  [[nodiscard]] std::map<std::string, std::string> Facts() const {
    return {{"frames", absl::StrCat(options_.frames)},
            {"learning_rate", absl::StrCat(options_.learning_rate)},
            {"photographs", absl::StrCat(options_.photographs.size())},
            {"seed", absl::StrCat(options_.seed)},
            {"size", absl::StrCat(options_.width, "x", options_.height)}};
  }

  const PretrainOptions& options_;
  const LayerChain& network_;
  const Stage whole_;
  const std::int64_t channels_;
  std::vector<std::unique_ptr<Optimizer>> optimizers_;
  std::optional<Checkpoints> checkpoints_;
  std::int64_t step_ = 0;
};

/// Whether the step that ended at `done` completes a part of the report.
bool ReportIsDue(const PretrainOptions& options, std::int64_t done) {
  const std::int64_t every = options.frames_per_report;
  return done == options.frames || done / every != (done - kPairsPerStep) / every;
}

}  // namespace

absl::StatusOr<PretrainSummary> PretrainOnScenes(const PretrainOptions& options,
                                                 const OnPretrainProgress& on_progress,
                                                 const std::stop_token& stop) {
  const OneThread one_thread;
  MILLRACE_ASSIGN_OR_RETURN(const NetworkWithState opened,
                            OpenFlowNetwork({.name = options.network, .seed = options.seed},
                                            options.width, options.height));
  SceneTrainer trainer(options, opened.chain);
  MILLRACE_RETURN_IF_ERROR(trainer.Resume());
  const PhotoScenes scenes({.width = options.width, .height = options.height, .seed = options.seed},
                           options.photographs);
  PairsAhead pairs(scenes, trainer.pairs());
  PretrainSummary summary;
  PretrainReport report;
  while (trainer.pairs() < options.frames) {
    if (stop.stop_requested()) return trainer.Stop();
    MILLRACE_RETURN_IF_ERROR(trainer.Step(pairs, report));
    const std::int64_t done = std::min(trainer.pairs(), options.frames);
    if (options.on_frame) options.on_frame(done);
    if (!ReportIsDue(options, done)) continue;
    summary.last = report.Close(done);
    if (summary.first.frames == 0) summary.first = summary.last;
    if (on_progress) on_progress(summary.last);
  }
  summary.skipped_updates = trainer.skipped_updates();
  MILLRACE_RETURN_IF_ERROR(SaveWeights(opened.chain, options.output));
  return summary;
}

}  // namespace millrace::pipeline
