#include "service/budget_gate.h"

#include <string>
#include <vector>

#include "service/device_budget.h"
#include "spdlog/spdlog.h"

namespace millrace::service {
namespace {

StreamLoad LoadOf(const ServedStream& served) {
  const StreamSnapshot snapshot = served.stream->Snapshot();
  return LoadOf(served.config(), *served.stream->learner(),
                snapshot.source.camera_frames_per_second);
}

}  // namespace

absl::Status BudgetGate::Admit(const StreamConfig& config,
                               const pipeline::LearnerDescription& learner) const {
  std::vector<StreamLoad> others;
  for (const SharedStream& served : streams_.All()) {
    const StreamConfig now = served->config();
    if (now.name != config.name) {
      if (!served->stream->ended()) others.push_back(LoadOf(*served));
    } else if (now.entry == config.entry) {
      return absl::OkStatus();
    }
  }
  const absl::Status fits = Fits(LoadOf(config, learner, 0), others, budget_);
  if (fits.ok() || of_clients_ || budget_.said()) return fits;
  spdlog::warn("stream '{}': {}", config.name, std::string(fits.message()));
  return absl::OkStatus();
}

}  // namespace millrace::service
