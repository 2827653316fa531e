// Makes the warm start: weights that can already see motion before the first frame of a camera.
//
// A network that starts from random weights sits at zero flow for the first thousand frames of real
// video. One that first learned from a generated stream, whose flow is known exactly, adapts at
// once. This header is free of LibTorch, so that the program's command line can include it.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "pipeline/learner/flow_loss_options.h"

namespace millrace::pipeline {

struct PretrainOptions {
  /// Where the weights go, for PyTorch if it ends in .pt. Written at the end, to a temporary file
  /// beside it that is then renamed.
  std::string output;
  /// One of FlowNetworkNames(), or a file of a network (open_flow_network.h).
  std::string network = "flow";
  /// Size of the generated pictures, in pixels: at least 64, multiples of what the network asks
  /// for.
  int width = 192;
  int height = 144;
  /// Pairs to learn from, each once. At least 1.
  std::int64_t frames = 3000;
  /// At the beginning; along half a cosine it falls to an eighth.
  double learning_rate = 4e-4;
  /// By what it learns.
  FlowLossOptions loss = {};
  /// Seeds the random weights and the stream. The same options give the same weights on the same
  /// machine.
  std::uint64_t seed = 0;
  /// on_progress is called after this many frames, and after the last one. At least 1.
  std::int64_t frames_per_report = 100;
  /// Told after each frame how many have been learned from. May be empty.
  std::function<void(std::int64_t frames)> on_frame = {};
};

/// What the network was worth on the frames since the report before, each scored before it was
/// learned from: means.
struct PretrainProgress {
  /// Frames learned from so far.
  std::int64_t frames = 0;
  /// Photometric loss over that of no motion.
  double loss_ratio = 0;
  /// Mean distance from the true flow, in pixels, and that of zero flow.
  double end_point_error = 0;
  double end_point_error_no_motion = 0;
};

struct PretrainSummary {
  /// The first and the last report.
  PretrainProgress first;
  PretrainProgress last;
  /// Frames whose update was left out because a value was not finite.
  std::int64_t skipped_updates = 0;
};

using OnPretrainProgress = std::function<void(const PretrainProgress&)>;

/// Learns on the calling thread, one pair at a time, and writes the weights. Fails with
/// INVALID_ARGUMENT on a bad option, before any work; with CANCELLED when asked to stop, writing
/// nothing; and with the cause when the file cannot be written, which it tries before it learns.
[[nodiscard]] absl::StatusOr<PretrainSummary> Pretrain(const PretrainOptions& options,
                                                       const OnPretrainProgress& on_progress,
                                                       const std::stop_token& stop = {});

}  // namespace millrace::pipeline
