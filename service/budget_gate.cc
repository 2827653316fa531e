#include "service/budget_gate.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/log_about.h"
#include "service/device_budget.h"
#include "spdlog/spdlog.h"

namespace millrace::service {
namespace {

/// What the camera says; 0 until it does.
double RateOf(const ServedStream& served) {
  return served.stream->Snapshot().source.camera_frames_per_second;
}

StreamLoad LoadOf(const ServedStream& served) {
  return LoadOf(served.config(), *served.learner_as_made, RateOf(served));
}

/// Whether both bring their frames at the same rate, before max_fps.
bool SameCamera(const ingest::SourceOptions& source, const ingest::SourceOptions& other) {
  return ingest::WithoutCredentials(source.uri) == ingest::WithoutCredentials(other.uri) &&
         source.test_frames_per_second == other.test_frames_per_second &&
         source.images_per_second == other.images_per_second;
}

/// Whether one takes no more of any device than the other.
bool TakesNoMore(const StreamLoad& load, const StreamLoad& than) {
  return std::ranges::all_of(load.devices, [&than](const auto& device) {
    const auto found = than.devices.find(device.first);
    return found != than.devices.end() && device.second <= found->second;
  });
}

}  // namespace

void BudgetGate::SetBudget(const Budget& budget) {
  const MutexLock lock(mu_);
  budget_ = budget;
}

Budget BudgetGate::budget() const {
  const MutexLock lock(mu_);
  return budget_;
}

absl::Status BudgetGate::Admit(const StreamConfig& config,
                               const pipeline::LearnerDescription& learner) const {
  const Budget budget = this->budget();
  const bool only_warns = config.of_file && !budget.said();
  double camera = 0;
  bool knows_camera = config.learner.frames_per_second > 0 || only_warns;
  std::vector<StreamLoad> others;
  for (const SharedStream& served : streams_.All()) {
    const StreamConfig now = served->config();
    if (now.name != config.name) {
      if (served->stream->running()) others.push_back(LoadOf(*served));
      continue;
    }
    if (SameCamera(config.source, now.source)) {
      camera = RateOf(*served);
      knows_camera = true;
    }
    // The same entry may be another stream by now, where what holds for all of them has changed.
    const bool as_it_was = now.entry == config.entry && now.in_force == config.in_force;
    if (as_it_was || TakesNoMore(LoadOf(config, learner, camera), LoadOf(*served))) {
      return absl::OkStatus();
    }
  }
  // One alone fits at any rate.
  if (!knows_camera && !others.empty()) camera = announced_(config.source);
  const absl::Status fits = Fits(LoadOf(config, learner, camera), others, budget);
  if (fits.ok() || !only_warns) return fits;
  const LogAbout about(config.name);
  spdlog::warn("stream '{}': {}", config.name, std::string(fits.message()));
  return absl::OkStatus();
}

}  // namespace millrace::service
