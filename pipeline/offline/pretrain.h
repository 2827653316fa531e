// Makes the warm start: weights that can already see motion before the first frame of a camera.
//
// A network with random weights and no prior predicts zero flow for the first thousand frames of
// real video. A network that first learned from a generated stream, whose flow is known exactly,
// adapts at once. Free of LibTorch, so that the program's command line can include this header.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/learner/flow_loss_options.h"
#include "pipeline/learner/flow_network_names.h"
#include "pipeline/learner/photograph.h"

namespace millrace::pipeline {

struct PretrainOptions {
  /// The file of the weights, for PyTorch if it ends in .pt. Written at the end, to a temporary
  /// file beside it, which is then renamed.
  std::string output;
  /// One of FlowNetworkNames(), or a file of a network (open_flow_network.h).
  std::string network = kUsualFlowNetwork;
  /// Size of the generated pictures in pixels: at least 64, and a multiple that the network
  /// defines.
  int width = 192;
  int height = 144;
  /// Grey pictures for scenes with known motion (photo_scenes.h). The network then learns the true
  /// motion, by Adam. Empty: it learns without the truth from a generated stream,
  /// by RMSprop without update clipping.
  std::vector<Photograph> photographs = {};
  /// With photographs: the folder that keeps what has been learned every 2,000 pairs and at a stop.
  /// The same options continue from there. Empty: nothing is kept.
  std::string checkpoints = {};
  /// The number of pairs; the network learns from each once. At least 1.
  std::int64_t frames = 3000;
  /// The initial rate. It falls along half a cosine: to an eighth, with photographs to a fiftieth.
  double learning_rate = 4e-4;
  /// The loss that it learns by.
  FlowLossOptions loss = {};
  /// Seeds the random weights and the stream. The same options give the same weights on the same
  /// machine.
  std::uint64_t seed = 0;
  /// on_progress is called after this many frames, and after the last one. At least 1.
  std::int64_t frames_per_report = 100;
  /// Called after each frame with the number of learned frames. May be empty.
  std::function<void(std::int64_t frames)> on_frame = {};
};

/// Mean scores of the frames since the previous report. Each frame was scored before the network
/// learned from it.
struct PretrainProgress {
  /// Frames learned from so far.
  std::int64_t frames = 0;
  /// Photometric loss divided by that of no motion.
  double loss_ratio = 0;
  /// Mean distance from the true flow, in pixels, and that of zero flow.
  double end_point_error = 0;
  double end_point_error_no_motion = 0;
};

struct PretrainSummary {
  /// The first and the last report.
  PretrainProgress first;
  PretrainProgress last;
  /// Frames without an update, because a value was not finite.
  std::int64_t skipped_updates = 0;
};

using OnPretrainProgress = std::function<void(const PretrainProgress&)>;

/// Learns on the calling thread, one pair at a time, and writes the weights. Fails with
/// INVALID_ARGUMENT on a bad option, before any work. Fails with CANCELLED after a stop request,
/// and then writes nothing. Fails with the cause if the file cannot be written; it checks this
/// before it learns.
[[nodiscard]] absl::StatusOr<PretrainSummary> Pretrain(const PretrainOptions& options,
                                                       const OnPretrainProgress& on_progress,
                                                       const std::stop_token& stop = {});

}  // namespace millrace::pipeline
