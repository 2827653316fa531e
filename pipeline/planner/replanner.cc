#include "pipeline/planner/replanner.h"

#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check.h"
#include "base/status.h"
#include "pipeline/planner/partition.h"

namespace millrace::pipeline {
namespace {

// A check takes a few medians. This is often enough for a camera, and the cost is negligible.
constexpr int kPollsToALook = 16;
constexpr double kMillisecondsPerSecond = 1000;
// A tenth of a stage's share where both want the same core: planning does not slow the stages, and
// still ends in about a second.
constexpr int kNiceness = 10;

double Ratio(double planned, double measured) { return planned > 0 ? measured / planned : 1; }

std::string Digits(double value) {
  return value < 100 ? absl::StrFormat("%.3g", value) : absl::StrFormat("%.0f", value);
}

// The operation that moved most, as text.
std::string WhyMoved(const std::vector<StageCost>& planned,
                     const std::vector<StageCost>& measured) {
  std::string why;
  double max_change = -1;
  for (std::size_t i = 0; i < planned.size(); ++i) {
    const auto look = [&](OperationKind kind, double before, double now) {
      if (std::abs(now - before) <= max_change) return;
      max_change = std::abs(now - before);
      why = absl::StrCat(kind == OperationKind::kUpdate ? "an " : "a ", std::string(Name(kind)),
                         " of stage ", i + 1, " takes ", Digits(now), " ms instead of ",
                         Digits(before));
    };
    look(OperationKind::kForward, planned[i].forward, measured[i].forward);
    look(OperationKind::kBackward, planned[i].backward, measured[i].backward);
    look(OperationKind::kUpdate, planned[i].update, measured[i].update);
  }
  return why;
}

// The forward that moved most, as text: of stages on other hosts, only forwards are measured.
std::string WhyHostMoved(const std::vector<StageCost>& planned,
                         const std::vector<StageCost>& measured) {
  std::size_t moved = 0;
  const auto change = [&](std::size_t i) {
    return std::abs(measured[i].forward - planned[i].forward);
  };
  for (std::size_t i = 1; i < planned.size(); ++i) {
    if (change(i) > change(moved)) moved = i;
  }
  return absl::StrCat("a forward of stage ", moved + 1, " takes ", Digits(measured[moved].forward),
                      " ms instead of ", Digits(planned[moved].forward));
}

// The link that moved most, as text.
std::string WhyLinksMoved(const std::vector<StageCost>& before, const std::vector<StageCost>& now) {
  std::size_t moved = 0;
  const auto change = [&](std::size_t i) { return std::abs(now[i].copy - before[i].copy); };
  for (std::size_t i = 1; i < now.size(); ++i) {
    if (change(i) > change(moved)) moved = i;
  }
  return absl::StrCat("the link behind stage ", moved + 1, " takes ", Digits(now[moved].copy),
                      " ms a sample instead of ", Digits(before[moved].copy));
}

// Takes over what was measured. On several hosts, a stage's host is slow, and not its layers: they
// may move to another one.
void Adapt(PlannerRequest& request, const Cuts& cuts, const std::vector<StageCost>& measured) {
  if (!request.uses_all) {
    request.layers = Scaled(request.layers, cuts, measured);
    return;
  }
  const std::vector<StageCost> planned = StageCosts(request.layers, cuts, request.speeds);
  request.speeds.slowness.resize(planned.size(), 1);
  for (std::size_t i = 0; i < planned.size(); ++i) {
    request.speeds.slowness[i] *= Ratio(planned[i].total(), measured[i].total());
  }
}

// `running`, evaluated with the costs of `request` and the effort of `found`.
absl::StatusOr<PlannedPipeline> Judged(const PlannerRequest& request, PlannedPipeline running,
                                       const PlannedPipeline& found) {
  running.effort = found.effort;
  running.costs = StageCosts(AtEffort(request.layers, found.effort), running.cuts, request.speeds);
  MILLRACE_RETURN_IF_ERROR(Evaluate(request, running));
  running.holds = running.dropped_share <= kToleratedDrops;
  running.limit = found.limit;
  return running;
}

bool SameWork(const PlannedPipeline& a, const PlannedPipeline& b) {
  return a.cuts == b.cuts && a.plan == b.plan;
}

// Whether no other plan can be much better: nothing is stale, and there is much time to spare. The
// times of a network that takes microseconds move all the time.
bool IsBest(const PlannedPipeline& running, const std::vector<StageCost>& measured,
            double interval) {
  constexpr double kMaxLoad = 0.25;
  double sum = 0;
  for (const StageCost& stage : measured) sum += stage.total();
  return running.staleness == 0 && running.effort.update_every == 1 && sum < kMaxLoad * interval;
}

bool GoodEnough(const PlannedPipeline& running, const PlannedPipeline& found, double share) {
  const bool holds = running.holds || running.dropped_share <= found.dropped_share;
  return holds && KeepsDelay(running.tail, found.tail) && running.staleness <= found.staleness &&
         running.mean_delay * (1 - share) <= found.mean_delay;
}

}  // namespace

std::vector<LayerProfile> Scaled(std::vector<LayerProfile> layers, const Cuts& cuts,
                                 const std::vector<StageCost>& measured) {
  const std::vector<StageCost> planned = StageCosts(CostsOf(layers), cuts);
  MILLRACE_CHECK(planned.size() == measured.size());
  for (int i = 0; i < static_cast<int>(layers.size()); ++i) {
    const int stage = StageOfLayer(cuts, i) - 1;
    StageCost& cost = layers[i].cost;
    cost.forward *= Ratio(planned[stage].forward, measured[stage].forward);
    const double inputs = cost.input_gradient() *
                          Ratio(planned[stage].input_gradient(), measured[stage].input_gradient());
    cost.weight_gradient *= Ratio(planned[stage].weight_gradient, measured[stage].weight_gradient);
    cost.backward = inputs + cost.weight_gradient;
    cost.update *= Ratio(planned[stage].update, measured[stage].update);
  }
  return layers;
}

absl::StatusOr<Replan> PlanAgain(const PlannerRequest& request, const PlannedPipeline& running,
                                 double share) {
  MILLRACE_ASSIGN_OR_RETURN(PlannedPipeline found, PlanFor(request));
  MILLRACE_ASSIGN_OR_RETURN(PlannedPipeline judged, Judged(request, running, found));
  Replan replan;
  replan.switches = !SameWork(judged, found) && !GoodEnough(judged, found, share);
  replan.pipeline = replan.switches ? std::move(found) : std::move(judged);
  replan.costs = StageCosts(request.layers, replan.pipeline.cuts, request.speeds);
  return replan;
}

Replanner::Replanner(Options options, PlannedPipeline running)
    : share_(options.share),
      clock_(*options.clock),
      watch_({.max_stages = options.request.devices, .share = options.share}),
      request_(std::move(options.request)),
      running_(std::move(running)),
      not_before_(clock_.Now() + pause_) {
  watch_.PlannedWith(Planned(), not_before_);
}

std::vector<StageCost> Replanner::Planned() const {
  return StageCosts(request_.layers, running_.cuts, request_.speeds);
}

void Replanner::Report(const std::vector<double>& forward_ms) {
  const std::vector<StageCost> planned = Planned();
  if (forward_ms.size() != planned.size()) return;  // Of a plan before.
  DeviceSpeeds now = request_.speeds;
  now.slowness.resize(planned.size(), 1);
  for (std::size_t i = 0; i < planned.size(); ++i) {
    now.slowness[i] *= Ratio(planned[i].forward, forward_ms[i]);
  }
  watch_.Report(StageCosts(request_.layers, running_.cuts, now));
}

std::optional<Replan> Replanner::Poll() {
  if (planning_) return Take();
  if (next_rate_ && clock_.Now() >= not_before_) {
    BeginForRate(*next_rate_);
    return std::nullopt;
  }
  if (next_links_) {
    std::vector<double> links = *std::move(next_links_);
    next_links_.reset();
    BeginForLinks(std::move(links));
    return std::nullopt;
  }
  if (++polls_ % kPollsToALook != 0) return std::nullopt;
  std::optional<std::vector<StageCost>> measured = watch_.Moved(clock_.Now());
  if (measured && !IsBest(running_, *measured, request_.interval)) {
    std::string why =
        request_.uses_all ? WhyHostMoved(Planned(), *measured) : WhyMoved(Planned(), *measured);
    Begin(*std::move(measured), std::move(why));
  }
  return std::nullopt;
}

void Replanner::BeginForRate(double rate) {
  std::string why = absl::StrFormat("the camera sends %.3g frames a second instead of %.3g", rate,
                                    kMillisecondsPerSecond / request_.interval);
  last_interval_ = std::exchange(request_.interval, kMillisecondsPerSecond / rate);
  Begin(watch_.Measured().value_or(Planned()), std::move(why));
}

void Replanner::BeginForLinks(std::vector<double> ms_per_byte) {
  std::vector<double>& links = request_.speeds.ms_per_byte;
  if (links == ms_per_byte) return;
  const std::vector<StageCost> before = Planned();
  last_links_ = std::exchange(links, std::move(ms_per_byte));
  std::string why = WhyLinksMoved(before, Planned());
  Begin(watch_.Measured().value_or(Planned()), std::move(why));
}

void Replanner::Begin(std::vector<StageCost> measured, std::string why) {
  why_ = std::move(why);
  Adapt(request_, running_.cuts, measured);
  not_before_ = clock_.Now() + pause_;
  watch_.PlannedWith(std::move(measured), not_before_);
  planning_ = true;
  done_ = false;
  try {
    thread_ = std::jthread(
        [this, request = request_, running = running_](const std::stop_token& stop) mutable {
          request.stop = stop;
          PlanOnThread(request, running);
          done_ = true;
          done_.notify_all();
        });
  } catch (const std::exception&) {  // No memory or thread is left: the running plan goes on.
    planning_ = false;
    done_ = true;
    GiveUp();
  }
}

// The running plan goes on. Poll() tries again after the pause.
void Replanner::GiveUp() {
  if (last_links_) {
    request_.speeds.ms_per_byte = *std::move(last_links_);
    last_links_.reset();
  }
  if (!last_interval_) return;
  request_.interval = *last_interval_;
  last_interval_.reset();
}

void Replanner::PlanOnThread(const PlannerRequest& request, const PlannedPipeline& running) {
  pthread_setname_np(pthread_self(), "planner");
  setpriority(PRIO_PROCESS, /*who: this thread*/ 0, kNiceness);
  try {
    absl::StatusOr<Replan> replan = PlanAgain(request, running, share_);
    const MutexLock lock(mu_);
    if (replan.ok()) result_ = *std::move(replan);
  } catch (...) {
    // Out of memory: the running plan goes on, and the next movement tries again.
  }
}

std::optional<Replan> Replanner::Take() {
  if (!done_) return std::nullopt;
  planning_ = false;
  std::optional<Replan> replan;
  {
    const MutexLock lock(mu_);
    replan = std::exchange(result_, std::nullopt);
  }
  if (!replan) {
    GiveUp();
    return std::nullopt;
  }
  replan->why = why_;
  replan->frames_per_second = kMillisecondsPerSecond / request_.interval;
  GoOnWith(*replan);
  return replan;
}

void Replanner::GoOnWith(const Replan& replan) {
  last_links_.reset();
  const bool for_rate = std::exchange(last_interval_, std::nullopt).has_value();
  if (for_rate && next_rate_ == kMillisecondsPerSecond / request_.interval) next_rate_.reset();
  if (replan.switches) {
    if (!for_rate && before_ && SameWork(*before_, replan.pipeline)) {
      pause_ = std::min(2 * pause_, kMaxPause);
    }
    before_ = running_;
  }
  running_ = replan.pipeline;
  not_before_ = clock_.Now() + pause_;
  watch_.PlannedWith(replan.costs, not_before_);
}

}  // namespace millrace::pipeline
