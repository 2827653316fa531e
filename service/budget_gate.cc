#include "service/budget_gate.h"

#include <algorithm>

#include "base/log_about.h"
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

/// The same entry may be another stream by now: what holds for all streams may have changed.
bool AsItWas(const StreamConfig& before, const StreamConfig& now) {
  return before.entry == now.entry && before.in_force == now.in_force;
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

std::optional<double> BudgetGate::KnownRateOf(const ingest::SourceOptions& source) const {
  for (const SharedStream& served : streams_.All()) {
    if (SameCamera(source, served->config().source)) return RateOf(*served);
  }
  return std::nullopt;
}

std::vector<StreamLoad> BudgetGate::LoadsBeside(const std::string& stream) const {
  std::vector<StreamLoad> loads;
  for (const SharedStream& served : streams_.All()) {
    const bool other = served->config().name != stream;
    if (other && served->stream->running()) loads.push_back(LoadOf(*served));
  }
  return loads;
}

absl::Status BudgetGate::Admit(const StreamConfig& config,
                               const pipeline::LearnerDescription& learner,
                               std::optional<double> announced) const {
  const std::vector<StreamLoad> others = LoadsBeside(config.name);
  if (others.empty()) return absl::OkStatus();  // One alone fits at any rate.
  const absl::StatusOr<SharedStream> before = streams_.Find(config.name);
  if (before.ok() && AsItWas((*before)->config(), config)) return absl::OkStatus();
  const Budget budget = this->budget();
  const bool only_warns = config.of_file && !budget.said();
  if (!announced) announced = KnownRateOf(config.source);
  if (!announced && config.learner.frames_per_second == 0 && !only_warns) {
    announced = announced_(config.source);
  }
  const StreamLoad load = LoadOf(config, learner, announced.value_or(0));
  if (before.ok() && TakesNoMore(load, LoadOf(**before))) return absl::OkStatus();
  const absl::Status fits = Fits(load, others, budget);
  if (fits.ok() || !only_warns) return fits;
  const LogAbout about(config.name);
  spdlog::warn("stream '{}': {}", config.name, std::string(fits.message()));
  return absl::OkStatus();
}

}  // namespace millrace::service
