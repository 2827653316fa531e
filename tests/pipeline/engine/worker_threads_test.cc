// Worker threads call the functions around an operation in its turn, also if it is skipped.
#include <atomic>
#include <mutex>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/engine/devices.h"
#include "pipeline/schedules/schedules.h"

namespace millrace::pipeline {
namespace {

using ::testing::ElementsAre;

Work WorkOf(const Plan& plan, std::size_t place, Work::What what) {
  const Operation& operation = plan.devices[0][place];
  return {.what = what, .step = {.kind = operation.kind, .stage = 1}, .place = place};
}

TEST(WorkerThreadsTest, RunAndSkippedWorkIsReportedInItsTurn) {
  const Plan plan =
      *MakePlan("sequential", {.shape = {.stages = 1, .skips = {}}, .costs = {StageCost()}});
  std::mutex mu;
  std::vector<std::string> told;
  const auto tell = [&](const char* what, const Work& work) {
    const std::lock_guard lock(mu);
    told.push_back(std::string(what) + std::to_string(work.place));
    return true;
  };
  const auto devices = MakeWorkerThreads(
      {.plan = plan,
       .run = [&](std::size_t, const Work& work) { return tell("run ", work); },
       .before = [&](std::size_t, const Work& work) { return tell("before ", work); },
       .after = [&](std::size_t, const Work& work) { return tell("after ", work); },
       .start = [](std::size_t) { return true; }});
  devices->Enqueue(0, WorkOf(plan, 0, Work::What::kRun));
  devices->Enqueue(0, WorkOf(plan, 1, Work::What::kSkip));
  devices->Enqueue(0, WorkOf(plan, 2, Work::What::kSkip));
  devices->Enqueue(0, {.what = Work::What::kEnd});
  devices->Join();
  EXPECT_THAT(told, ElementsAre("before 0", "run 0", "after 0", "before 1", "after 1", "before 2",
                                "after 2"));
}

TEST(WorkerThreadsTest, ASkipThatFailsStopsEverything) {
  const Plan plan =
      *MakePlan("sequential", {.shape = {.stages = 1, .skips = {}}, .costs = {StageCost()}});
  std::atomic<int> runs = 0;
  const auto devices =
      MakeWorkerThreads({.plan = plan,
                         .run = [&](std::size_t, const Work&) { return ++runs > 0; },
                         .after = [](std::size_t, const Work&) { return false; },
                         .start = [](std::size_t) { return true; }});
  devices->Enqueue(0, WorkOf(plan, 0, Work::What::kSkip));
  devices->Enqueue(0, WorkOf(plan, 1, Work::What::kRun));
  devices->Join();
  EXPECT_EQ(runs, 0);
}

}  // namespace
}  // namespace millrace::pipeline
