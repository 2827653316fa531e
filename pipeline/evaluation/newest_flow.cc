#include "pipeline/evaluation/newest_flow.h"

#include <limits>
#include <utility>

namespace millrace::pipeline {

NewestFlowScorer::NewestFlowScorer(double interval, Flow before_the_first, StreamScorer scorer)
    : interval_(interval),
      scorer_(std::move(scorer)),
      newest_{.there_at = 0, .flow = std::move(before_the_first), .learned_from = false} {}

void NewestFlowScorer::AddPair(ClipPair pair) {
  pairs_.push_back(std::move(pair));
  if (!coming_.empty()) ScoreUntil(coming_.back().there_at);
}

void NewestFlowScorer::AddFlow(double there_at, Flow flow, bool learned_from) {
  coming_.push_back({there_at, std::move(flow), learned_from});
  ScoreUntil(there_at);
}

ScoredStream NewestFlowScorer::Finish() && {
  ScoreUntil(std::numeric_limits<double>::infinity());
  return std::move(scorer_).Finish();
}

void NewestFlowScorer::ScoreUntil(double time) {
  while (!pairs_.empty()) {
    const double came = static_cast<double>(pairs_.front().number) * interval_;
    if (came >= time) return;
    while (!coming_.empty() && coming_.front().there_at <= came) {
      newest_ = std::move(coming_.front());
      coming_.pop_front();
    }
    scorer_.Add(pairs_.front(), *newest_.flow, newest_.learned_from);
    pairs_.pop_front();
  }
}

}  // namespace millrace::pipeline
