#include "pipeline/offline/pretrain.h"

#include <cmath>
#include <numbers>

#include <ATen/TensorOperators.h>

#include "absl/strings/str_cat.h"
#include "base/atomic_file.h"
#include "base/plural.h"
#include "base/status.h"
#include "pipeline/device/one_thread.h"
#include "pipeline/flow/flow_loss.h"
#include "pipeline/models/open_flow_network.h"
#include "pipeline/nn/stage.h"
#include "pipeline/nn/weights_file.h"
#include "pipeline/offline/pretrain_report.h"
#include "pipeline/offline/scene_pretraining.h"
#include "pipeline/optim/optimizer.h"
#include "pipeline/scenes/generated_stream.h"

namespace millrace::pipeline {
namespace {

constexpr int kMinSide = 64;

// Options of the generated stream: the speed of its fastest cameras, in pixels per frame, and the
// length of a scene.
constexpr double kFastest = 2.75;
constexpr int kFramesPerScene = 50;

absl::Status CheckSide(const char* name, int side, int multiple) {
  if (side >= kMinSide && side % multiple == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " is ", side, "; it must be a multiple of ",
                                                 multiple, ", at least ", kMinSide));
}

absl::Status CheckOptions(const PretrainOptions& options) {
  MILLRACE_ASSIGN_OR_RETURN(const FlowNetworkInput input, FlowNetworkInputOf(options.network));
  MILLRACE_RETURN_IF_ERROR(CheckSide("width", options.width, input.size_multiple));
  MILLRACE_RETURN_IF_ERROR(CheckSide("height", options.height, input.size_multiple));
  if (options.frames < 1 || options.frames_per_report < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("frames is ", options.frames, ", frames per report ",
                     options.frames_per_report, "; both must be at least 1"));
  }
  const double smoothness = options.loss.smoothness;
  if (!(options.learning_rate > 0) || !(smoothness >= 0)) {
    return absl::InvalidArgumentError(absl::StrCat("learning rate is ", options.learning_rate,
                                                   ", smoothness ", smoothness,
                                                   "; the first must be above 0, the second not "
                                                   "below"));
  }
  return absl::OkStatus();
}

constexpr double kMinRateShare = 1.0 / 8;

// The learning rate, relative to the initial one, after the share `done` of all frames.
double RateShare(double done) {
  return kMinRateShare + (1 - kMinRateShare) * (1 + std::cos(std::numbers::pi * done)) / 2;
}

// Scores the network on one pair, then learns from it.
void Learn(const Stage& network, const GeneratedPair& pair, const FlowLossOptions& options,
           Optimizer& optimizer, PretrainReport& report) {
  const at::Tensor flow = network.Forward({pair.pictures})[0];
  const FlowLoss loss = ComputeFlowLoss(pair.pictures, flow, options);
  report.Add(loss, flow.detach().narrow(0, 0, 1), pair.flow);
  loss.objective.backward();
  optimizer.Step();
}

}  // namespace

absl::StatusOr<PretrainSummary> Pretrain(const PretrainOptions& options,
                                         const OnPretrainProgress& on_progress,
                                         const std::stop_token& stop) {
  MILLRACE_RETURN_IF_ERROR(CheckOptions(options));
  MILLRACE_RETURN_IF_ERROR(CheckWritable(options.output));
  if (!options.photographs.empty()) return PretrainOnScenes(options, on_progress, stop);
  const OneThread one_thread;
  MILLRACE_ASSIGN_OR_RETURN(
      const NetworkWithState opened,
      OpenFlowNetwork(
          {.name = options.network, .seed = options.seed, .pairs = PairsJudged(options.loss)},
          options.width, options.height));
  const LayerChain& network = opened.chain;
  const Stage whole = WholeChain(network);
  const auto optimizer =
      MakeOptimizer({.learning_rate = options.learning_rate, .clip_update = 0}, whole.parameters());
  const int channels = FlowNetworkInputOf(options.network)->channels;
  GeneratedStream stream({.width = options.width,
                          .height = options.height,
                          .seed = options.seed,
                          .scenes = GeneratedStream::Scenes::kVaried,
                          .speed = kFastest,
                          .frames_per_scene = kFramesPerScene});
  PretrainSummary summary;
  PretrainReport report;
  for (std::int64_t frame = 1; frame <= options.frames; ++frame) {
    if (stop.stop_requested()) {
      return absl::CancelledError(absl::StrCat("stopped after ", Plural(frame - 1, "frame"), "; ",
                                               options.output, " not written"));
    }
    GeneratedPair pair = stream.Next();
    pair.pictures = pair.pictures.expand({2, channels, options.height, options.width});
    optimizer->set_rate_scale(
        RateShare(static_cast<double>(frame) / static_cast<double>(options.frames)));
    Learn(whole, pair, options.loss, *optimizer, report);
    if (options.on_frame) options.on_frame(frame);
    if (frame % options.frames_per_report != 0 && frame != options.frames) continue;
    summary.last = report.Close(frame);
    if (summary.first.frames == 0) summary.first = summary.last;
    if (on_progress) on_progress(summary.last);
  }
  summary.skipped_updates = optimizer->counts().skipped;
  MILLRACE_RETURN_IF_ERROR(SaveWeights(network, options.output));
  return summary;
}

}  // namespace millrace::pipeline
