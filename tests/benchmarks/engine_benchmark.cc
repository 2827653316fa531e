// The cost of the engine itself: operations that do nothing, run in turns by the engine and by the
// serial interpreter, which does the same bookkeeping without threads.
//
//   engine_benchmark JSON_FILE
#include <chrono>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "pipeline/engine/engine.h"
#include "pipeline/engine/run_history.h"
#include "pipeline/plan/serial_run.h"
#include "pipeline/schedules/schedules.h"
#include "tests/benchmarks/report.h"
#include "tests/pipeline/support/without_bounds.h"

namespace millrace::benchmarks {
namespace {

using pipeline::Plan;
using pipeline::Step;

constexpr int kTurns = 9;
constexpr std::int64_t kSamples = 4000;
/// F, B and U, of each sample in each stage.
constexpr int kOperations = 3;

class Stopwatch {
 public:
  [[nodiscard]] double microseconds() const {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start_)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

double PerOperation(double microseconds, std::int64_t samples, const Plan& plan) {
  return microseconds / static_cast<double>(samples * kOperations * plan.stage_count());
}

double EngineMicroseconds(const Plan& plan, pipeline::RunHistory* history) {
  std::vector<pipeline::ObserveOperation> observers;
  if (history != nullptr) observers.push_back(history->Observer(plan.devices.size()));
  auto engine = pipeline::Engine::Start(
      {.plan = plan, .run = [](const Step&) { return true; }, .observers = std::move(observers)});
  MILLRACE_CHECK(engine.ok());
  const Stopwatch watch;
  for (std::int64_t i = 0; i < kSamples; ++i) {
    MILLRACE_CHECK((*engine)->Admit([](std::int64_t) {}).ok());
  }
  MILLRACE_CHECK((*engine)->Drain().ok());
  return PerOperation(watch.microseconds(), kSamples, plan);
}

double SerialMicroseconds(const Plan& plan) {
  const Plan unbounded = pipeline::WithoutBounds(plan, static_cast<int>(kSamples));
  const Stopwatch watch;
  pipeline::RunSerially(unbounded, kSamples, [](const Step&) {});
  return PerOperation(watch.microseconds(), kSamples, plan);
}

Plan PlanOf(int stages) {
  const std::vector<pipeline::StageCost> costs(stages, {.forward = 1, .backward = 2, .update = 1});
  auto plan = pipeline::MakePlan("one_f_one_b_star",
                                 {.shape = {.stages = stages, .skips = {}}, .costs = costs});
  MILLRACE_CHECK(plan.ok());
  return *std::move(plan);
}

int Run(const std::string& json_file) {
  std::cout << "At the start: " << Conditions() << "\n\n";
  std::vector<std::vector<std::string>> table = {{"stages", "engine, us per operation",
                                                  "with the last operations kept", "ratio",
                                                  "serial, us per operation", "engine to serial"}};
  nlohmann::json result = nlohmann::json::array();
  for (int stages : {1, 2, 4, 8}) {
    const Plan plan = PlanOf(stages);
    std::vector<double> engine;
    std::vector<double> keeping;
    std::vector<double> serial;
    for (int turn = 0; turn < kTurns; ++turn) {
      pipeline::RunHistory history;
      engine.push_back(EngineMicroseconds(plan, nullptr));
      keeping.push_back(EngineMicroseconds(plan, &history));
      serial.push_back(SerialMicroseconds(plan));
    }
    const Spread ratio = RatioOf(engine, serial);
    const Spread kept = RatioOf(keeping, engine);
    table.push_back({absl::StrCat(stages), Text(SpreadOf(engine), 2), Text(SpreadOf(keeping), 2),
                     Text(kept, 2), Text(SpreadOf(serial), 2), Text(ratio, 1)});
    result.push_back({{"stages", stages},
                      {"engine_us_per_operation", Json(SpreadOf(engine))},
                      {"keeping_us_per_operation", Json(SpreadOf(keeping))},
                      {"keeping_ratio", Json(kept)},
                      {"serial_us_per_operation", Json(SpreadOf(serial))},
                      {"ratio", Json(ratio)}});
  }
  std::cout << "The engine alone: one_f_one_b_star, operations that do nothing, median (least to "
               "greatest) of "
            << kTurns << " turns\n\n"
            << MarkdownTable(table) << std::endl;
  return WriteResult(json_file, result);
}

}  // namespace
}  // namespace millrace::benchmarks

int main(int argc, char** argv) try {
  if (argc == 2) return millrace::benchmarks::Run(argv[1]);
  std::cerr << "usage: engine_benchmark JSON_FILE\n";
  return 2;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
