// The gain of the admission gate: a camera in front of the engine, and operations that only sleep,
// with a lognormal jitter of 20 %. The gate is on and off in turns, beside the simulation's values.
//
//   gate_benchmark JSON_FILE
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
#include "pipeline/schedules/schedules.h"
#include "tests/benchmarks/report.h"
#include "tests/pipeline/support/gate_margin.h"

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
  Run(const Plan& plan, double interval, bool gate) : interval_(interval) {
    auto engine =
        pipeline::Engine::Start({.plan = plan,
                                 .run =
                                     [this](const Step& step) {
                                       RunStep(step);
                                       return true;
                                     },
                                 .gate_costs = gate ? Costs() : std::vector<StageCost>{}});
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
    double delay = 0;
    for (std::size_t i = 0; i < arrivals_.size(); ++i) {
      delay += std::chrono::duration<double>(predictions_[i] - arrivals_[i]).count();
    }
    const double predicted = static_cast<double>(arrivals_.size());
    return {.dropped_share = 1 - predicted / kFrames,
            .delay_over_forwards = delay / predicted / (kStages * kForward)};
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

Outcome Simulated(const Plan& plan, double interval, bool gate) {
  pipeline::LiveOptions options{
      .costs = Costs(), .interval = interval, .queue = kQueue, .spread = kSpread};
  if (gate) options.gate_margin = *pipeline::FindGateMargin(plan, options);
  const auto figures = pipeline::SimulateLive(plan, options);
  MILLRACE_CHECK(figures.ok());
  return {figures->dropped_share, figures->mean_delay / (kStages * kForward)};
}

int Main(const std::string& json_file) {
  std::cout << "At the start: " << Conditions() << "\n\n";
  std::vector<std::vector<std::string>> table = {{"schedule", "load", "gate", "dropped",
                                                  "delay over the forwards", "simulated: dropped",
                                                  "delay"}};
  nlohmann::json result = nlohmann::json::array();
  for (const char* schedule : {"one_f_one_b_star", "partime"}) {
    const Plan plan = *pipeline::MakePlan(
        schedule, {.shape = {.stages = kStages, .skips = {}}, .costs = Costs()});
    for (double load : {0.8, 0.9, 1.0}) {
      for (bool gate : {false, true}) {
        const double interval = 3 * kForward / load;
        const Outcome ran = Run(plan, interval, gate).Take();
        const Outcome simulated = Simulated(plan, interval, gate);
        table.push_back({schedule, absl::StrFormat("%.1f", load), gate ? "on" : "off",
                         absl::StrFormat("%.1f %%", 100 * ran.dropped_share),
                         absl::StrFormat("%.2f", ran.delay_over_forwards),
                         absl::StrFormat("%.1f %%", 100 * simulated.dropped_share),
                         absl::StrFormat("%.2f", simulated.delay_over_forwards)});
        result.push_back({{"schedule", schedule},
                          {"load", load},
                          {"gate", gate},
                          {"dropped_share", ran.dropped_share},
                          {"delay_over_forwards", ran.delay_over_forwards},
                          {"simulated_dropped_share", simulated.dropped_share},
                          {"simulated_delay_over_forwards", simulated.delay_over_forwards}});
      }
    }
  }
  std::cout << "The gate: " << kStages << " stages, operations that sleep, " << kFrames
            << " frames a row\n\n"
            << MarkdownTable(table) << std::endl;
  return WriteResult(json_file, result);
}

}  // namespace
}  // namespace millrace::benchmarks

int main(int argc, char** argv) try {
  if (argc == 2) return millrace::benchmarks::Main(argv[1]);
  std::cerr << "usage: gate_benchmark JSON_FILE\n";
  return 2;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
