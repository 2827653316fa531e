#include "pipeline/planner/live_simulation.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "pipeline/plan/simulator.h"

namespace millrace::pipeline {
namespace {

// The frames of a camera, behind a queue that drops its oldest frame. Frames become samples.
class Camera {
 public:
  explicit Camera(const LiveOptions& options)
      : interval_(options.interval), queue_(options.queue), frames_(options.frames) {}

  std::optional<double> Admit(double ready) {
    const auto arrived = std::min<std::int64_t>(
        frames_, static_cast<std::int64_t>(std::floor(ready / interval_ + 1e-9)) + 1);
    next_ = std::max(next_, arrived - queue_);
    if (next_ == frames_) return std::nullopt;
    const double arrival = static_cast<double>(next_) * interval_;
    samples_.push_back({.frame = next_++});
    return std::max(ready, arrival);
  }

  [[nodiscard]] std::vector<LiveSample>& samples() { return samples_; }

 private:
  const double interval_;
  const std::int64_t queue_;
  const std::int64_t frames_;
  std::int64_t next_ = 0;
  std::vector<LiveSample> samples_;
};

}  // namespace

absl::StatusOr<std::vector<LiveSample>> SimulateSamples(const Plan& plan,
                                                        const LiveOptions& options) {
  MILLRACE_CHECK(options.interval > 0 && options.queue >= 1);
  Camera camera(options);
  std::mt19937_64 random(options.seed);
  std::lognormal_distribution<double> factor(-options.spread * options.spread / 2, options.spread);
  SimulationOptions simulation{.costs = options.costs,
                               .admit = [&](double ready) { return camera.Admit(ready); }};
  if (options.spread > 0) {
    simulation.vary = [&](const Step& /*step*/, double cost) { return cost * factor(random); };
  }
  MILLRACE_ASSIGN_OR_RETURN(const Timeline timeline, Simulate(plan, simulation));
  std::vector<LiveSample> samples = std::move(camera.samples());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i].predicted = timeline.predictions()[i].end;
  }
  return samples;
}

absl::StatusOr<LiveFigures> SimulateLive(const Plan& plan, const LiveOptions& options) {
  MILLRACE_CHECK(options.frames >= 10);
  MILLRACE_ASSIGN_OR_RETURN(const std::vector<LiveSample> samples, SimulateSamples(plan, options));
  const std::int64_t filling = options.frames / 10;
  std::vector<double> delays;
  for (const LiveSample& sample : samples) {
    if (sample.frame < filling) continue;
    delays.push_back(sample.predicted - static_cast<double>(sample.frame) * options.interval);
  }
  const auto counted = static_cast<double>(options.frames - filling);
  LiveFigures figures{.dropped_share = 1 - static_cast<double>(delays.size()) / counted};
  if (delays.empty()) return figures;
  for (double delay : delays) figures.mean_delay += delay;
  figures.mean_delay /= static_cast<double>(delays.size());
  std::ranges::sort(delays);
  figures.p50_delay = delays[delays.size() / 2];
  figures.p99_delay = delays[delays.size() * 99 / 100];
  return figures;
}

}  // namespace millrace::pipeline
