// The time of planning: simulations, exact periods, cuts and whole searches. Baselines are the
// simulation, for the exact period, and the block partition of torchgpipe, for the cuts. Fails if
// one of them takes a second.
//
//   planning_benchmark JSON_FILE
#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check.h"
#include "pipeline/plan/simulator.h"
#include "pipeline/plan/steady_state.h"
#include "pipeline/planner/partition.h"
#include "pipeline/planner/planner.h"
#include "pipeline/schedules/schedules.h"
#include "tests/benchmarks/report.h"
#include "tests/pipeline/planner/block_partition.h"
#include "tests/pipeline/planner/slowest.h"

namespace millrace::benchmarks {
namespace {

using pipeline::Plan;
using pipeline::StageCost;

constexpr int kTurns = 5;
constexpr int kStages = 64;
constexpr int kLayers = 1000;
constexpr int kSamples = 1000;
constexpr double kMaxMilliseconds = 1000;

std::vector<StageCost> RandomCosts(int count) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> cost(1, 3);
  std::vector<StageCost> costs(count);
  for (StageCost& one : costs) {
    one = {.forward = cost(random), .backward = 2 * cost(random), .update = 0.2, .copy = 0.5};
  }
  return costs;
}

double Milliseconds(const std::function<void()>& task) {
  const auto start = std::chrono::steady_clock::now();
  task();
  const auto took = std::chrono::steady_clock::now() - start;
  return std::chrono::duration<double, std::milli>(took).count();
}

// Times of a task and of its baseline, in turns.
struct Times {
  std::vector<double> task;
  std::vector<double> baseline;
};

Times InTurns(const std::function<void()>& task, const std::function<void()>& baseline) {
  Times times;
  for (int turn = 0; turn < kTurns; ++turn) {
    times.task.push_back(Milliseconds(task));
    if (baseline) times.baseline.push_back(Milliseconds(baseline));
  }
  return times;
}

class Report {
 public:
  void Add(const std::string& what, const Times& times, const std::string& baseline) {
    const Spread took = SpreadOf(times.task);
    const bool compared = !times.baseline.empty();
    rows_.push_back(
        {what, Text(took, 1), compared ? Text(SpreadOf(times.baseline), 1) : "", baseline});
    result_.push_back({{"what", what}, {"milliseconds", Json(took)}});
    if (compared) result_.back()["baseline_milliseconds"] = Json(SpreadOf(times.baseline));
    slow_ = slow_ || took.median > kMaxMilliseconds;
  }

  int Write(const std::string& json_file) const {
    std::cout << MarkdownTable(rows_) << std::endl;
    if (slow_) std::cerr << "a task takes more than a second\n";
    return std::max(WriteResult(json_file, result_), slow_ ? 1 : 0);
  }

 private:
  std::vector<std::vector<std::string>> rows_ = {{"what", "ms", "baseline, ms", "the baseline"}};
  nlohmann::json result_ = nlohmann::json::array();
  bool slow_ = false;
};

void AddSchedules(Report& report) {
  const std::vector<StageCost> costs = RandomCosts(kStages);
  const std::vector<double> arrivals(kSamples, 0.0);
  for (const std::string& name : pipeline::ScheduleNames()) {
    const auto plan = pipeline::MakePlan(name, {.shape = {.stages = kStages}, .costs = costs});
    MILLRACE_CHECK(plan.ok());
    const Times times = InTurns(
        [&] { static_cast<void>(pipeline::SteadyPeriod(*plan, costs)); },
        [&] {
          MILLRACE_CHECK(pipeline::Simulate(*plan, {.costs = costs, .arrivals = arrivals}).ok());
        });
    report.Add(absl::StrCat("the exact period of `", name, "`, ", kStages, " stages"), times,
               absl::StrCat("a simulation of ", kSamples, " samples"));
  }
}

void AddPartition(Report& report) {
  const std::vector<StageCost> layers = RandomCosts(kLayers);
  pipeline::Cuts cuts;
  pipeline::Cuts blocks;
  const Times times = InTurns([&] { cuts = *pipeline::BestCuts(layers, kStages); },
                              [&] { blocks = pipeline::BlockPartition(layers, kStages); });
  const double ratio =
      pipeline::LargestBlock(layers, blocks) / pipeline::LargestBlock(layers, cuts);
  report.Add(absl::StrCat("the best cuts, ", kLayers, " layers on ", kStages, " devices"), times,
             absl::StrFormat("torchgpipe's blocks, whose slowest takes %.2f times as long", ratio));
}

void AddSearch(Report& report) {
  pipeline::PlannerRequest request{.interval = 40, .devices = 8};
  for (const StageCost& cost : RandomCosts(50)) request.layers.push_back({"layer", cost});
  report.Add("a plan for a rate (`auto`), 50 layers on up to 8 devices",
             InTurns([&] { MILLRACE_CHECK(pipeline::PlanFor(request).ok()); }, {}), "");
}

int Main(const std::string& json_file) {
  std::cout << "At the start: " << Conditions() << "\n\n";
  Report report;
  AddSchedules(report);
  AddPartition(report);
  AddSearch(report);
  return report.Write(json_file);
}

}  // namespace
}  // namespace millrace::benchmarks

int main(int argc, char** argv) try {
  if (argc == 2) return millrace::benchmarks::Main(argv[1]);
  std::cerr << "usage: planning_benchmark JSON_FILE\n";
  return 2;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
