// The exact recent operations of a running pipeline, while it runs.
#include "pipeline/engine/run_history.h"

#include <algorithm>
#include <map>
#include <set>
#include <stop_token>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/engine/phased_engine.h"
#include "tests/pipeline/support/engine_runs.h"

namespace millrace::pipeline {
namespace {

using enum OperationKind;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The n-th: it takes from 10 n to 10 n + 7.
void NoteNth(OperationRing& ring, std::int64_t n) {
  ring.Note({kBackward, 3, n, n + 1}, nanoseconds(10 * n), nanoseconds(10 * n + 7));
}

std::vector<PastOperation> AllOf(const OperationRing& ring) {
  std::vector<PastOperation> operations;
  ring.Since(nanoseconds(0), 0, operations);
  return operations;
}

TEST(OperationRingTest, KeepsWhatWasNoted) {
  OperationRing ring;
  EXPECT_THAT(AllOf(ring), IsEmpty());
  NoteNth(ring, 4);
  const auto operations = AllOf(ring);
  ASSERT_THAT(operations, SizeIs(1));
  EXPECT_EQ(operations[0].step, (Step{kBackward, 3, 4, 5}));
  EXPECT_EQ(operations[0].start, nanoseconds(40));
  EXPECT_EQ(operations[0].end, nanoseconds(47));
}

TEST(OperationRingTest, GivesWhatEndedSinceThenOldestFirst) {
  OperationRing ring;
  for (int n = 0; n < 5; ++n) NoteNth(ring, n);
  std::vector<PastOperation> operations;
  ring.Since(nanoseconds(27), 6, operations);
  EXPECT_THAT(operations, ElementsAre(Field(&PastOperation::start, nanoseconds(20)),
                                      Field(&PastOperation::start, nanoseconds(30)),
                                      Field(&PastOperation::start, nanoseconds(40))));
  EXPECT_EQ(operations[0].device, 6U);
}

TEST(OperationRingTest, TheNewestTakeThePlacesOfTheOldest) {
  OperationRing ring;
  const std::int64_t last = 2 * HistoryLimit().operations + 5;
  for (std::int64_t n = 0; n <= last; ++n) NoteNth(ring, n);
  const auto operations = AllOf(ring);
  ASSERT_THAT(operations, SizeIs(HistoryLimit().operations));
  EXPECT_EQ(operations.back().step.first, last);
  EXPECT_EQ(operations.front().step.first, last - HistoryLimit().operations + 1);
}

// A concurrent reader finds whole operations, in their order, without a gap.
TEST(OperationRingTest, IsReadWhileItIsWritten) {
  OperationRing ring;
  const std::jthread writer([&](const std::stop_token& stop) {
    for (std::int64_t n = 0; !stop.stop_requested(); ++n) NoteNth(ring, n);
  });
  std::int64_t newest = 0;
  while (newest < 3 * HistoryLimit().operations) {
    const auto operations = AllOf(ring);
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const std::int64_t n = operations[i].step.first;
      ASSERT_EQ(n, operations[0].step.first + static_cast<std::int64_t>(i));
      ASSERT_EQ(operations[i].step.last, n + 1);
      ASSERT_EQ(operations[i].start, nanoseconds(10 * n));
      ASSERT_EQ(operations[i].end, nanoseconds(10 * n + 7));
    }
    if (!operations.empty()) newest = operations.back().step.first;
  }
}

// Each device did one thing after the other.
void ExpectOneAtATime(const std::vector<PastOperation>& operations) {
  std::map<std::size_t, nanoseconds> free;
  for (const PastOperation& operation : operations) {
    EXPECT_LE(free[operation.device], operation.start) << ToString(operation.step);
    EXPECT_LE(operation.start, operation.end);
    free[operation.device] = operation.end;
  }
}

std::set<std::pair<OperationKind, int>> KindsAndStages(
    const std::vector<PastOperation>& operations) {
  std::set<std::pair<OperationKind, int>> seen;
  for (const PastOperation& one : operations) seen.insert({one.step.kind, one.step.stage});
  return seen;
}

class RunningHistory : public ::testing::TestWithParam<std::string> {};

TEST_P(RunningHistory, HasEveryOperationInTheOrderOfItsDevice) {
  constexpr int kSamples = 60;
  ScheduleRequest request = RequestOf(ShapeWithSkips(3));
  request.switch_at = 20;
  auto engine =
      *PhasedEngine::Start({.phases = *MakePhases(GetParam(), request), .run = [](const Step&) {
                              Jitter();
                              return true;
                            }});
  for (int i = 0; i < kSamples; ++i) {
    ASSERT_TRUE(engine->Admit([](std::int64_t) {}).ok());
    ExpectOneAtATime(engine->history().Since(nanoseconds(0)));  // While it runs.
  }
  ASSERT_TRUE(engine->Drain().ok());
  const auto operations = engine->history().Since(nanoseconds(0));
  ExpectOneAtATime(operations);
  const int kinds = GetParam() == "one_f_one_b_one_w" ? kOperationKinds : kOperationKinds - 1;
  EXPECT_THAT(KindsAndStages(operations), SizeIs(3 * kinds));
  std::int64_t forwards = 0;
  for (const PastOperation& one : operations) {
    if (one.step.kind == kForward) forwards += one.step.samples();
  }
  EXPECT_EQ(forwards, 3 * kSamples);
}

// Two plans in turn, the first of them with shifts; backwards of whole mini-batches; split ones.
INSTANTIATE_TEST_SUITE_P(ShiftsAndMiniBatches, RunningHistory,
                         ::testing::Values("hybrid", "timeprest", "one_f_one_b_one_w"),
                         [](const auto& test) { return test.param; });

// A plan counts its samples from 0; the stream's numbers go on, and so does the history.
TEST(RunHistoryTest, GoesOnOverPausesAndOtherPlans) {
  auto engine =
      *PhasedEngine::Start({.phases = {{.plan = PlanOf("sequential", 2), .first_sample = 100}},
                            .run = [](const Step&) { return true; }});
  const auto admit = [&] { ASSERT_TRUE(engine->Admit([](std::int64_t) {}).ok()); };
  admit();
  ASSERT_TRUE(engine->Pause([](const Phase&) {}).ok());
  admit();
  ASSERT_TRUE(
      engine->Switch(PlanOf("partime", 3), [](const Phase&) { return absl::OkStatus(); }).ok());
  admit();
  ASSERT_TRUE(engine->Drain().ok());
  std::vector<Step> of_first_stage;
  for (const PastOperation& one : engine->history().Since(nanoseconds(0))) {
    if (one.step.stage == 1 && one.step.kind == kForward) of_first_stage.push_back(one.step);
  }
  EXPECT_THAT(of_first_stage, ElementsAre(Step{kForward, 1, 100, 100}, Step{kForward, 1, 101, 101},
                                          Step{kForward, 1, 102, 102}));
}

}  // namespace
}  // namespace millrace::pipeline
