#include "pipeline/planner/planner.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"
#include "pipeline/plan/plan_checker.h"
#include "pipeline/plan/simulator.h"
#include "pipeline/planner/live_simulation.h"
#include "pipeline/planner/partition.h"
#include "pipeline/planner/plan_memory.h"

namespace millrace::pipeline {
namespace {

constexpr double kShares[] = {1.0, 0.95, 0.9, 0.85, 0.8, 0.7, 0.6};
constexpr int kMaxUpdateEvery = 64;
constexpr double kAboutAsShort = 1.1;

absl::Status CheckRequest(const PlannerRequest& request) {
  if (!(request.interval > 0)) {
    return absl::InvalidArgumentError("the frame interval must be positive");
  }
  if (request.devices < 1) return absl::InvalidArgumentError("planning needs at least one device");
  if (request.layers.empty()) return absl::InvalidArgumentError("there are no layers to plan for");
  if (request.uses_all && request.devices > static_cast<int>(request.layers.size())) {
    return absl::InvalidArgumentError(absl::StrCat("there are ", request.layers.size(),
                                                   " layers, so at most as many stages on "
                                                   "hosts; ",
                                                   request.devices, " were asked for"));
  }
  return absl::OkStatus();
}

// 1F1B with each stage's lag stretched by up to D - h (share 1): more staleness, more slack.
Plan Stretched(Plan plan, double share) {
  const int stages = plan.stage_count();
  for (int stage = 1; stage <= stages; ++stage) {
    std::vector<Operation>& order = plan.devices[stage - 1];
    const int behind = stages - stage;
    const int more = static_cast<int>(std::lround(share * behind));
    const int lag = order[1].shift - order[0].shift + more;
    for (std::size_t i = 1; i < order.size(); ++i) order[i].shift = order[0].shift + lag;
    plan.stages[stage - 1].slots = lag + 1;
  }
  return plan;
}

StageHolds Larger(const StageHolds& a, const StageHolds& b) {
  return {.versions = std::max(a.versions, b.versions),
          .activations = std::max(a.activations, b.activations),
          .inputs = std::max(a.inputs, b.inputs)};
}

class Planner {
 public:
  explicit Planner(const PlannerRequest& request) : request_(request) {}

  absl::StatusOr<PlannedPipeline> Run() {
    for (int every = 1; every <= kMaxUpdateEvery; every *= 2) {
      MILLRACE_ASSIGN_OR_RETURN(std::optional<PlannedPipeline> found, AtEffortOf({every}));
      if (found) return *std::move(found);
    }
    MILLRACE_ASSIGN_OR_RETURN(std::optional<PlannedPipeline> found, AtEffortOf({0}));
    if (found) return *std::move(found);
    if (!closest_.has_value()) return does_not_fit_;
    PlannedPipeline closest = *std::move(closest_);
    closest.holds = false;
    return closest;
  }

 private:
  // As PlanFor(), at this effort; nullopt if no plan holds the rate.
  absl::StatusOr<std::optional<PlannedPipeline>> AtEffortOf(Effort effort) {
    closest_.reset();
    std::vector<PlannedPipeline> candidates;
    const int max_devices =
        std::min<int>(request_.devices, static_cast<int>(request_.layers.size()));
    const int min_devices = request_.uses_all ? max_devices : 1;
    for (int stages = min_devices; stages <= max_devices; ++stages) {
      MILLRACE_RETURN_IF_ERROR(AddCandidates(stages, effort, candidates));
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const auto& a, const auto& b) { return a.staleness < b.staleness; });
    std::vector<PlannedPipeline> holding;
    for (PlannedPipeline& candidate : candidates) {
      if (FoundEnough(holding, candidate)) break;
      if (request_.stop.stop_requested()) return absl::CancelledError("planning was stopped");
      MILLRACE_RETURN_IF_ERROR(Evaluate(request_, candidate));
      if (!closest_ || candidate.dropped_share < closest_->dropped_share) closest_ = candidate;
      if (candidate.dropped_share <= kToleratedDrops) holding.push_back(std::move(candidate));
    }
    return BestOf(std::move(holding));
  }

  // Whether a plan that holds has less staleness than `next`, and keeps the delay.
  static bool FoundEnough(const std::vector<PlannedPipeline>& holding,
                          const PlannedPipeline& next) {
    return std::ranges::any_of(holding, [&](const PlannedPipeline& found) {
      return found.staleness < next.staleness && found.tail <= kToleratedTail;
    });
  }

  // `holding` is in the order of the staleness.
  static std::optional<PlannedPipeline> BestOf(std::vector<PlannedPipeline> holding) {
    if (holding.empty()) return std::nullopt;
    const double shortest = std::ranges::min(holding, {}, &PlannedPipeline::tail).tail;
    std::erase_if(holding,
                  [&](const PlannedPipeline& plan) { return !KeepsDelay(plan.tail, shortest); });
    const int staleness = holding.front().staleness;
    std::erase_if(holding, [&](const PlannedPipeline& plan) { return plan.staleness > staleness; });
    return std::ranges::min(holding, {}, &PlannedPipeline::mean_delay);
  }

  using MakeOne = std::function<absl::StatusOr<Plan>(ScheduleRequest&)>;
  struct Kind {
    MakeOne make;
    MakeOne make_split = nullptr;  // The same with split backwards; empty: there is no such plan.
  };

  // Of the plans with `stages` stages that do not fit, the first needs the least memory. Keeps its
  // error.
  absl::Status AddCandidates(int stages, const Effort& effort,
                             std::vector<PlannedPipeline>& candidates) {
    PartitionRequest partition{.layers = AtEffort(request_.layers, effort),
                               .stages = stages,
                               .memory_bytes = request_.memory_bytes,
                               .speeds = request_.speeds};
    const absl::StatusOr<Cuts> cuts = BestCuts(partition);
    if (absl::IsResourceExhausted(cuts.status())) {
      does_not_fit_ = cuts.status();
      return absl::OkStatus();
    }
    MILLRACE_RETURN_IF_ERROR(cuts.status());
    if (TooSlow(partition, *cuts, effort)) return absl::OkStatus();
    const bool splits = std::ranges::any_of(
        partition.layers, [](const LayerProfile& layer) { return layer.cost.weight_gradient > 0; });
    bool first = true;
    for (const Kind& kind : ManyKinds()) {
      MILLRACE_ASSIGN_OR_RETURN(std::optional<PlannedPipeline> whole,
                                IfItFits(partition, *cuts, effort, kind.make, first));
      std::optional<PlannedPipeline> split;
      if (splits && kind.make_split) {
        MILLRACE_ASSIGN_OR_RETURN(
            split, IfItFits(partition, *cuts, effort, kind.make_split, first && !whole));
      }
      const bool helps = split && (!whole || split->staleness < whole->staleness);
      if (helps) candidates.push_back(*std::move(split));
      if (whole) candidates.push_back(*std::move(whole));
      first = false;
    }
    return absl::OkStatus();
  }

  // As Fitting(), but nullopt if no cuts fit. Then keeps the error, if `keeps_why`.
  absl::StatusOr<std::optional<PlannedPipeline>> IfItFits(const PartitionRequest& partition,
                                                          const Cuts& cuts, const Effort& effort,
                                                          const MakeOne& make, bool keeps_why) {
    absl::StatusOr<std::optional<PlannedPipeline>> found = Fitting(partition, cuts, effort, make);
    if (!absl::IsResourceExhausted(found.status())) return found;
    if (keeps_why) does_not_fit_ = found.status();
    return std::nullopt;
  }

  // From the kind that holds least to the kind that holds most.
  [[nodiscard]] std::vector<Kind> ManyKinds() const {
    std::vector<Kind> kinds;
    for (double share : kShares) {
      const auto make = [this, share](std::string_view name) {
        return [this, share, name](ScheduleRequest& schedule) {
          schedule.period = std::max(share * request_.interval, MinPeriod(schedule.costs));
          return MakePlan(name, schedule);
        };
      };
      kinds.push_back({make("one_f_one_b_star"), make("one_f_one_b_one_w")});
    }
    for (double share : {0.0, 0.5, 1.0}) {
      kinds.push_back({[share](ScheduleRequest& schedule) -> absl::StatusOr<Plan> {
        schedule.period = kEachStageAGroup;
        MILLRACE_ASSIGN_OR_RETURN(Plan full, MakePlan("one_f_one_b_star", schedule));
        return Stretched(std::move(full), share);
      }});
    }
    return kinds;
  }

  // A plan that only predicts is never too slow: it is the last resort.
  [[nodiscard]] bool TooSlow(const PartitionRequest& partition, const Cuts& cuts,
                             const Effort& effort) const {
    const std::vector<StageCost> costs = StageCosts(partition.layers, cuts, partition.speeds);
    return effort.update_every != 0 && MinPeriod(costs) > request_.interval;
  }

  // The plan of `make`, cut so that it fits into the memory; nullopt if it is too slow then. Cuts
  // the plan again for its own holds and those of the plans before it, until the plan fits or no
  // cuts fit.
  absl::StatusOr<std::optional<PlannedPipeline>> Fitting(PartitionRequest partition, Cuts cuts,
                                                         const Effort& effort,
                                                         const MakeOne& make) const {
    partition.holds.resize(partition.stages);
    for (;;) {
      if (request_.stop.stop_requested()) return absl::CancelledError("planning was stopped");
      MILLRACE_ASSIGN_OR_RETURN(PlannedPipeline made, Make(partition, cuts, effort, make));
      if (Fits(made)) return made;
      const std::vector<StageHolds> holds = HoldsOf(made.plan);
      for (std::size_t i = 0; i < holds.size(); ++i) {
        partition.holds[i] = Larger(partition.holds[i], holds[i]);
      }
      MILLRACE_ASSIGN_OR_RETURN(cuts, BestCuts(partition));
      if (TooSlow(partition, cuts, effort)) return std::nullopt;
    }
  }

  [[nodiscard]] absl::StatusOr<PlannedPipeline> Make(const PartitionRequest& partition,
                                                     const Cuts& cuts, const Effort& effort,
                                                     const MakeOne& make) const {
    ScheduleRequest schedule{.shape = {.stages = partition.stages, .skips = {}},
                             .costs = StageCosts(partition.layers, cuts, partition.speeds)};
    if (request_.skips_of) schedule.shape.skips = request_.skips_of(cuts);
    MILLRACE_ASSIGN_OR_RETURN(Plan plan, make(schedule));
    MILLRACE_ASSIGN_OR_RETURN(const std::vector<StageFigures> figures, CheckPlan(plan));
    PlannedPipeline made{.cuts = cuts,
                         .plan = std::move(plan),
                         .costs = std::move(schedule.costs),
                         .period = std::max(schedule.period, 0.0),
                         .effort = effort};
    for (const StageFigures& stage : figures) {
      made.staleness = std::max(made.staleness, stage.staleness + stage.gradient_age);
    }
    return made;
  }

  [[nodiscard]] bool Fits(const PlannedPipeline& made) const {
    if (!request_.memory_bytes) return true;
    const std::vector<double> bytes = DeviceBytes(made.plan, request_.layers, made.cuts);
    return *std::ranges::max_element(bytes) <= *request_.memory_bytes;
  }

  const PlannerRequest& request_;
  std::optional<PlannedPipeline> closest_;        // The plan that drops least, if no plan holds.
  absl::Status does_not_fit_ = absl::OkStatus();  // Why no plan fits into the memory.
};

// The limit of a plan, if it is a link.
std::string LinkLimitOf(const std::vector<StageCost>& stages) {
  double slowest = 0;
  std::size_t link = 0;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    slowest = std::max(slowest, stages[i].total());
    if (stages[i].copy > stages[link].copy) link = i;
  }
  if (stages[link].copy <= slowest) return "";
  return absl::StrFormat("the link behind stage %d takes %.4g ms a sample, longer than each stage",
                         link + 1, stages[link].copy);
}

std::string LimitOf(const std::vector<StageCost>& layers) {
  double all = 0;
  std::size_t dominating = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    all += layers[i].total();
    if (layers[i].total() > layers[dominating].total()) dominating = i;
  }
  const double largest = layers[dominating].total();
  if (largest <= 0) return "the layers cost nothing";
  return absl::StrFormat(
      "layer %d alone takes %.4g of the %.4g ms that a sample costs: pipelining gains a factor of "
      "%.3g at most",
      dominating, largest, all, all / largest);
}

}  // namespace

bool KeepsDelay(double tail, double shortest) {
  return tail <= std::max(kToleratedTail, kAboutAsShort * shortest);
}

StageCost AtEffort(StageCost cost, const Effort& effort) {
  const double share = effort.update_every > 0 ? 1.0 / effort.update_every : 0;
  cost.backward *= share;
  cost.weight_gradient *= share;
  cost.update *= share;
  return cost;
}

std::vector<LayerProfile> AtEffort(std::vector<LayerProfile> layers, const Effort& effort) {
  for (LayerProfile& layer : layers) layer.cost = AtEffort(layer.cost, effort);
  return layers;
}

absl::Status Evaluate(const PlannerRequest& request, PlannedPipeline& pipeline) {
  MILLRACE_ASSIGN_OR_RETURN(const LiveFigures live,
                            SimulateLive(pipeline.plan, {.costs = pipeline.costs,
                                                         .interval = request.interval,
                                                         .spread = request.spread,
                                                         .frames = 1000}));
  pipeline.dropped_share = live.dropped_share;
  pipeline.mean_delay = live.mean_delay;
  pipeline.tail = live.p50_delay > 0 ? live.p99_delay / live.p50_delay : 1;
  return absl::OkStatus();
}

absl::StatusOr<PlannedPipeline> PlanFor(const PlannerRequest& request) {
  MILLRACE_RETURN_IF_ERROR(CheckRequest(request));
  MILLRACE_ASSIGN_OR_RETURN(PlannedPipeline planned, Planner(request).Run());
  planned.limit = LinkLimitOf(planned.costs);
  if (planned.limit.empty()) planned.limit = LimitOf(CostsOf(request.layers));
  planned.plan.schedule = absl::StrCat("auto: ", planned.plan.schedule);
  return planned;
}

}  // namespace millrace::pipeline
