#include "service/frames/recent_stats.h"

namespace millrace::service {
namespace {

std::vector<pipeline::StageTime> TimesOf(const std::vector<pipeline::LinkFigures>& links) {
  std::vector<pipeline::StageTime> times;
  for (const pipeline::LinkFigures& link : links) times.push_back({.predicting = link.busy});
  return times;
}

}  // namespace

void RecentStats::RecordArrival(const ingest::Frame& frame) {
  MutexLock lock(mu_);
  in_.Record(frame.arrival, static_cast<std::uint64_t>(frame.number) + 1);
}

void RecentStats::RecordPrediction(const Prediction& prediction, std::chrono::nanoseconds now) {
  MutexLock lock(mu_);
  out_.Record(now, ++predictions_);
  delays_.Record(now, prediction.delay);
  learning_.Record(prediction);
}

RecentStats::Values RecentStats::At(std::chrono::nanoseconds now, std::int64_t next_number) const {
  MutexLock lock(mu_);
  return {.frames_per_second_in = in_.PerSecond(now, static_cast<std::uint64_t>(next_number)),
          .predictions_per_second = out_.PerSecond(now, predictions_),
          .delay_p50_s = delays_.Quantile(0.5, now),
          .delay_p99_s = delays_.Quantile(0.99, now),
          .learning = learning_.Recent()};
}

void RecentStats::RecordWork(const std::vector<pipeline::StageTime>& worked,
                             std::chrono::nanoseconds now) {
  MutexLock lock(mu_);
  loads_.Record(now, worked);
}

void RecentStats::RecordLinks(const std::vector<pipeline::LinkFigures>& links,
                              std::chrono::nanoseconds now) {
  MutexLock lock(mu_);
  links_.Record(now, TimesOf(links));
}

std::vector<LinkLoad> RecentStats::LinkLoadsAt(
    std::chrono::nanoseconds now, const std::vector<pipeline::LinkFigures>& links) const {
  std::vector<StageLoad> loads;
  {
    MutexLock lock(mu_);
    loads = links_.At(now, TimesOf(links));
  }
  std::vector<LinkLoad> named;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    named.push_back({.from = links[i].from, .to = links[i].to, .share = loads[i].predicting});
  }
  return named;
}

std::vector<StageLoad> RecentStats::LoadsAt(std::chrono::nanoseconds now,
                                            const std::vector<pipeline::StageTime>& worked) const {
  MutexLock lock(mu_);
  return loads_.At(now, worked);
}

}  // namespace millrace::service
