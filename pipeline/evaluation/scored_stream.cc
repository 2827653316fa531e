#include "pipeline/evaluation/scored_stream.h"

#include <cmath>
#include <utility>

namespace millrace::pipeline {

StreamScorer::StreamScorer(std::chrono::nanoseconds length, int width, int height,
                           std::span<const double> reference_losses)
    : width_(width), height_(height), reference_losses_(reference_losses), losses_(length) {}

double StreamScorer::Add(const ClipPair& pair, std::span<const float> flow, bool learned_from) {
  const PairOfPictures pictures(*pair.previous, *pair.current, width_, height_);
  const PairLosses losses{.loss = pictures.Loss(flow), .loss_no_motion = pictures.LossOfNoMotion()};
  AddLosses(pair, losses, learned_from);
  const FlowScores scores = ScoresOf(pictures, flow, pair.truth.get());
  of_window_.Add(scores);
  scored_.whole.flow.Add(scores);
  return losses.loss;
}

void StreamScorer::AddLosses(const ClipPair& pair, const PairLosses& losses, bool learned_from) {
  Score score{.stream_time = pair.stream_time,
              .loss = std::isfinite(losses.loss) ? losses.loss : losses.loss_no_motion,
              .loss_no_motion = losses.loss_no_motion,
              .learned_from = learned_from};
  const auto number = static_cast<std::size_t>(pair.number);
  if (number < reference_losses_.size()) score.loss_reference = reference_losses_[number];
  if (const std::optional<ScoreWindow> closed = losses_.Add(score)) Close(*closed);
}

void StreamScorer::Close(const ScoreWindow& window) {
  scored_.windows.push_back(
      {.start = window.start,
       .scores = {.loss = window.summary, .flow = std::exchange(of_window_, {})}});
}

ScoredStream StreamScorer::Finish() && {
  if (const std::optional<ScoreWindow> open = losses_.Open()) Close(*open);
  scored_.whole.loss = losses_.whole();
  return std::move(scored_);
}

}  // namespace millrace::pipeline
