// Delay and drops under jitter: a camera in front of the engine, and operations that only sleep,
// with a lognormal jitter of 20 %, beside the simulation's values.
//
//   jitter_benchmark JSON_FILE
#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/bounded_queue.h"
#include "base/check.h"
#include "pipeline/engine/engine.h"
#include "pipeline/planner/live_simulation.h"
#include "pipeline/planner/planner.h"
#include "pipeline/schedules/schedules.h"
#include "tests/benchmarks/report.h"

namespace millrace::benchmarks {
namespace {

using pipeline::OperationKind;
using pipeline::Plan;
using pipeline::StageCost;
using pipeline::Step;
using Clock = std::chrono::steady_clock;

constexpr int kStages = 4;
constexpr int kFrames = 600;
constexpr double kForward = 5e-3;  // Seconds; a backward takes twice as long.
constexpr double kSpread = 0.2;
constexpr int kQueue = 2;

struct Outcome {
  double dropped_share = 0;
  double delay_over_forwards = 0;
  // The 99th percentile of the delay over its median.
  double tail = 0;
};

std::vector<StageCost> Costs() {
  return std::vector<StageCost>(kStages, {.forward = kForward, .backward = 2 * kForward});
}

// Sleeps for as long as an operation takes.
void Work(const Step& step) {
  thread_local std::mt19937_64 random(std::hash<std::thread::id>{}(std::this_thread::get_id()));
  thread_local std::lognormal_distribution<double> factor(-kSpread * kSpread / 2, kSpread);
  const double mean = step.kind == OperationKind::kForward    ? kForward
                      : step.kind == OperationKind::kBackward ? 2 * kForward
                                                              : 0;
  if (mean > 0) std::this_thread::sleep_for(std::chrono::duration<double>(mean * factor(random)));
}

// A run behind a camera that drops its oldest frame when kQueue wait.
class Run {
 public:
  Run(const Plan& plan, double interval) : interval_(interval) {
    auto engine = pipeline::Engine::Start({.plan = plan, .run = [this](const Step& step) {
                                             RunStep(step);
                                             return true;
                                           }});
    MILLRACE_CHECK(engine.ok());
    engine_ = *std::move(engine);
  }

  Outcome Take() {
    std::jthread camera([this] { Film(); });
    for (;;) {
      MILLRACE_CHECK(engine_->AwaitRoom().ok());
      const std::optional<Clock::time_point> arrival = frames_.Pop();
      if (!arrival) break;
      arrivals_.push_back(*arrival);
      MILLRACE_CHECK(engine_->Admit([](std::int64_t) {}).ok());
    }
    MILLRACE_CHECK(engine_->Drain().ok());
    std::vector<double> delays;
    double sum = 0;
    for (std::size_t i = 0; i < arrivals_.size(); ++i) {
      delays.push_back(std::chrono::duration<double>(predictions_[i] - arrivals_[i]).count());
      sum += delays.back();
    }
    std::ranges::sort(delays);
    const double predicted = static_cast<double>(delays.size());
    return {.dropped_share = 1 - predicted / kFrames,
            .delay_over_forwards = sum / predicted / (kStages * kForward),
            .tail = delays[delays.size() * 99 / 100] / delays[delays.size() / 2]};
  }

 private:
  void Film() {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < kFrames; ++i) {
      std::this_thread::sleep_until(start + std::chrono::duration_cast<Clock::duration>(
                                                std::chrono::duration<double>(interval_ * i)));
      frames_.PushOrDropOldest(Clock::now());
    }
    frames_.Close();
  }

  void RunStep(const Step& step) {
    Work(step);
    if (step.kind != OperationKind::kForward || step.stage != kStages) return;
    predictions_.push_back(Clock::now());
  }

  const double interval_;
  BoundedQueue<Clock::time_point> frames_{kQueue};
  std::vector<Clock::time_point> arrivals_;
  std::vector<Clock::time_point> predictions_;  // Of the last stage's thread until it is drained.
  std::unique_ptr<pipeline::Engine> engine_;
};

Outcome Simulated(const Plan& plan, double interval) {
  const auto figures = pipeline::SimulateLive(
      plan, {.costs = Costs(), .interval = interval, .queue = kQueue, .spread = kSpread});
  MILLRACE_CHECK(figures.ok());
  return {figures->dropped_share, figures->mean_delay / (kStages * kForward),
          figures->p99_delay / figures->p50_delay};
}

// "auto" plans for the interval; each stage is one layer.
Plan PlanOf(const std::string& schedule, double interval) {
  if (schedule != "auto") {
    return *pipeline::MakePlan(schedule,
                               {.shape = {.stages = kStages, .skips = {}}, .costs = Costs()});
  }
  pipeline::PlannerRequest request{.interval = interval, .devices = kStages, .spread = kSpread};
  for (const StageCost& cost : Costs()) request.layers.push_back({.name = "stage", .cost = cost});
  const auto planned = pipeline::PlanFor(request);
  MILLRACE_CHECK(planned.ok() && planned->plan.stage_count() == kStages &&
                 planned->effort.update_every == 1);
  return planned->plan;
}

std::string Percent(double share) { return absl::StrFormat("%.1f %%", 100 * share); }
std::string Ratio(double ratio) { return absl::StrFormat("%.2f", ratio); }

int Main(const std::string& json_file) {
  std::cout << "At the start: " << Conditions() << "\n\n";
  std::vector<std::vector<std::string>> table = {{"schedule", "load", "dropped",
                                                  "delay over the forwards", "p99 over the median",
                                                  "simulated: dropped", "delay", "p99"}};
  nlohmann::json result = nlohmann::json::array();
  for (const char* schedule : {"one_f_one_b_star", "partime", "auto"}) {
    for (double load : {0.8, 0.9, 1.0}) {
      const bool no_plan = load == 1.0 && std::string(schedule) == "auto";
      if (no_plan) continue;  // It would learn from fewer frames.
      const double interval = 3 * kForward / load;
      const Plan plan = PlanOf(schedule, interval);
      const Outcome ran = Run(plan, interval).Take();
      const Outcome simulated = Simulated(plan, interval);
      table.push_back({schedule, absl::StrFormat("%.1f", load), Percent(ran.dropped_share),
                       Ratio(ran.delay_over_forwards), Ratio(ran.tail),
                       Percent(simulated.dropped_share), Ratio(simulated.delay_over_forwards),
                       Ratio(simulated.tail)});
      result.push_back({{"schedule", schedule},
                        {"load", load},
                        {"dropped_share", ran.dropped_share},
                        {"delay_over_forwards", ran.delay_over_forwards},
                        {"p99_over_median", ran.tail},
                        {"simulated_dropped_share", simulated.dropped_share},
                        {"simulated_delay_over_forwards", simulated.delay_over_forwards},
                        {"simulated_p99_over_median", simulated.tail}});
    }
  }
  std::cout << "Jitter: " << kStages << " stages, operations that sleep, " << kFrames
            << " frames a row\n\n"
            << MarkdownTable(table) << std::endl;
  return WriteResult(json_file, result);
}

}  // namespace
}  // namespace millrace::benchmarks

int main(int argc, char** argv) try {
  if (argc == 2) return millrace::benchmarks::Main(argv[1]);
  std::cerr << "usage: jitter_benchmark JSON_FILE\n";
  return 2;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
