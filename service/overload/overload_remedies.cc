#include "service/overload/overload_remedies.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "pipeline/learner/flow_network_names.h"

namespace millrace::service {
namespace {

// A learner that works all the time drops frames whenever an operation takes longer.
// EffortController increases learning only with a sixth of the time to spare.
constexpr double kMaxLoad = 0.8;
constexpr int kMinSide = 64;

double CostS(const pipeline::StageDescription& stage, int update_every) {
  const double learning_ms = stage.backward_ms + stage.update_ms;
  return (stage.forward_ms + (update_every > 0 ? learning_ms / update_every : 0)) / 1000;
}

/// The time between two samples: the slowest device determines it.
double PeriodS(const pipeline::LearnerDescription& learner, int update_every) {
  std::map<std::string, double> devices;
  double slowest = 0;
  for (const pipeline::StageDescription& stage : learner.stages) {
    double& device = devices[stage.device];
    device += CostS(stage, update_every);
    slowest = std::max(slowest, device);
  }
  return slowest;
}

/// Rounds down to two digits, and to integers from ten on.
double RoundedDown(double rate) {
  if (rate <= 0) return 0;
  const double unit = rate >= 10 ? 1 : std::pow(10, std::floor(std::log10(rate)) - 1);
  return std::floor(rate / unit + 1e-9) * unit;
}

/// The largest input of about the same shape with at most `share` of the present cost.
void FindInput(double share, int multiple, const pipeline::LearnerDescription& learner,
               Remedies& remedies) {
  const double shape = static_cast<double>(learner.height) / learner.width;
  const double max = share * learner.width * learner.height;
  for (const double difference : {0.03, 0.15}) {
    for (int width = learner.width / multiple * multiple; width >= kMinSide; width -= multiple) {
      const int height = static_cast<int>(std::lround(width * shape / multiple)) * multiple;
      if (height < kMinSide || static_cast<double>(width) * height > max) continue;
      if (std::abs(static_cast<double>(height) / width / shape - 1) > difference) continue;
      remedies.width = width;
      remedies.height = height;
      return;
    }
  }
}

// Of several hosts, the idle cores of the others are unknown.
bool MayHaveMoreStages(const StreamConfig& config, const pipeline::LearnerDescription& learner) {
  if (!config.learner.rank_of_stage.empty() || config.learner.schedule == "local") return false;
  return std::ranges::all_of(learner.stages, [](const pipeline::StageDescription& stage) {
    return stage.device.starts_with("cpu");
  });
}

/// The smallest number of stages that reaches `rate` samples per second at a cost of `sample_s`
/// each, within the number of cores. 0: there are too few cores.
int FindStages(double rate, double sample_s, double cores,
               const pipeline::LearnerDescription& learner) {
  std::size_t layers = 0;
  for (const pipeline::StageDescription& stage : learner.stages) layers += stage.layers.size();
  const int max = std::min({kMaxStages, static_cast<int>(cores), static_cast<int>(layers)});
  for (auto stages = static_cast<int>(learner.stages.size()) + 1; stages <= max; ++stages) {
    if (kMaxLoad * stages / sample_s >= rate) return stages;
  }
  return 0;
}

double CoresInUse(const OverloadCase& seen, const pipeline::LearnerDescription& learner) {
  if (seen.loads.empty()) return static_cast<double>(learner.stages.size());
  double cores = 0;
  for (const StageLoad& load : seen.loads) cores += load.predicting + load.learning;
  return cores;
}

}  // namespace

std::optional<LinkLoad> LimitingLink(const std::vector<StageLoad>& stages,
                                     const std::vector<LinkLoad>& links) {
  // Frames also wait for each other, so a link that is the limit idles at times.
  constexpr double kNearlyAll = 0.75;
  const std::optional<LinkLoad> busiest = BusiestOf(links);
  if (!busiest || busiest->share < kNearlyAll) return std::nullopt;
  for (const StageLoad& stage : stages) {
    if (stage.predicting + stage.learning > busiest->share) return std::nullopt;
  }
  return busiest;
}

double RateAt(int update_every, const pipeline::LearnerDescription& learner) {
  const double wanted = PeriodS(learner, update_every);
  if (wanted <= 0) return 0;
  return learner.samples_per_second * PeriodS(learner, learner.update_every) / wanted;
}

Remedies RemediesFor(const OverloadCase& seen, const StreamConfig& config,
                     const pipeline::LearnerDescription& learner) {
  const Overload& overload = seen.overload;
  const double planned = RateAt(overload.update_every, learner);
  const bool measured = overload.kind == OverloadKind::kDrops;
  const double slowdown =
      measured && overload.predicted_per_second > 0 ? planned / overload.predicted_per_second : 1;
  const double learning_all = slowdown > 0 ? RateAt(1, learner) / slowdown : 0;
  const double held = kMaxLoad * learning_all;
  if (held <= 0 || overload.received_per_second <= 0) return {};
  // The learner's costs let it keep up: another program, or another stream, takes the time.
  if (held >= overload.received_per_second) return {};
  Remedies remedies{.max_fps = RoundedDown(held)};
  if (learner.labels || pipeline::IsNetworkFile(config.flow.network)) return remedies;
  const auto input = pipeline::FlowNetworkInputOf(config.flow.network);
  const double share = held / overload.received_per_second;
  if (input.ok() && share < 1) FindInput(share, input->size_multiple, learner, remedies);
  if (!MayHaveMoreStages(config, learner)) return remedies;
  double sample_s = 0;
  for (const pipeline::StageDescription& stage : learner.stages) sample_s += CostS(stage, 1);
  const double cores =
      (CoresInUse(seen, learner) + seen.idle_cores) / std::max(config.learner.threads_per_stage, 1);
  const int stages = FindStages(overload.received_per_second, sample_s * slowdown, cores, learner);
  // The schedule auto already uses the configured maximum of stages if that helps.
  if (config.learner.schedule != "auto" || stages > config.learner.stages) {
    remedies.stages = stages;
  }
  return remedies;
}

}  // namespace millrace::service
