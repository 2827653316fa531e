#include "pipeline/timeline/timeline_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/timeline/chrome_trace.h"
#include "tests/pipeline/support/engine_runs.h"

namespace millrace::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

struct Drawn {
  Plan plan;
  std::vector<TimelineEvent> events = {};
  std::vector<CopyEvent> copies = {};
};

Drawn Draw(const std::string& schedule, int stages, StageCost cost) {
  ScheduleRequest request = RequestOf({.stages = stages, .skips = {}});
  request.costs.assign(stages, cost);
  Drawn drawn{.plan = *MakePlan(schedule, request)};
  drawn.events = *SimulatedEvents(drawn.plan, request.costs, MinPeriod(request.costs),
                                  SamplesToDraw(drawn.plan));
  drawn.copies = CopiesOf(drawn.plan, request.costs, drawn.events);
  return drawn;
}

std::string Svg(const Drawn& drawn, double end) {
  return TimelineSvg({.title = "a & b",
                      .subtitle = "period 3 ms",
                      .unit = "ms",
                      .row_names = RowNames(drawn.plan),
                      .events = drawn.events,
                      .copies = drawn.copies,
                      .end = end});
}

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

constexpr StageCost kCost = {.forward = 1, .backward = 2, .update = 0};
constexpr StageCost kWithCopies = {.forward = 1, .backward = 2, .update = 0.5, .copy = 0.25};

TEST(TimelineSvgTest, DrawsABoxForEveryOperationThatBeginsInTime) {
  const Drawn drawn = Draw("partime", 4, kCost);
  const std::string svg = Svg(drawn, 30);
  int begun = 0;
  for (const TimelineEvent& event : drawn.events) begun += event.span.start < 30 ? 1 : 0;
  EXPECT_EQ(Count(svg, "</title></rect>"), begun);
  EXPECT_THAT(svg, HasSubstr("<title>F1(0)</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>B4(2)</title>"));
  EXPECT_THAT(svg, HasSubstr(">stage 4</text>"));
  EXPECT_THAT(svg, HasSubstr("a &amp; b"));
}

TEST(TimelineSvgTest, CopiesAreDrawnWhereTheyTakeTime) {
  EXPECT_THAT(Svg(Draw("partime", 4, kCost), 30), Not(HasSubstr("copy")));
  EXPECT_THAT(Svg(Draw("partime", 4, kWithCopies), 30), HasSubstr("<title>copy B4(0)</title>"));
}

TEST(TimelineSvgTest, NumbersAreLeftOutWhereTheyDoNotFit) {
  const std::string number = "font-size=\"11\" fill=\"#10222e\">0</text>";  // In a forward's box.
  EXPECT_THAT(Svg(Draw("partime", 4, kCost), 30), HasSubstr(number));
  EXPECT_THAT(Svg(Draw("partime", 32, kCost), 220), Not(HasSubstr(number)));
}

TEST(TimelineSvgTest, TheSameRunGivesTheSameText) {
  EXPECT_EQ(Svg(Draw("stale", 3, kCost), 20), Svg(Draw("stale", 3, kCost), 20));
}

TEST(TimelineEventTest, NoCopyCrossesACutWithoutGradients) {
  for (const CopyEvent& copy : Draw("local", 3, kWithCopies).copies) {
    EXPECT_EQ(copy.step.kind, OperationKind::kForward);
    EXPECT_LT(copy.step.stage, 3);
  }
}

TEST(TimelineEventTest, ADrawingEndsAfterEveryStageHasUpdated) {
  const Drawn drawn = Draw("partime", 4, kCost);
  // The first sample's gradient reaches stage 1 at 3 * 3 + 3 * 3 + 3 = 21, in its seventh period.
  EXPECT_DOUBLE_EQ(EndOfDrawing(drawn.plan, drawn.events, 3, 2), 21 + 2 * 3);
}

TEST(RowNamesTest, SayWhichStagesADeviceWorksFor) {
  EXPECT_THAT(RowNames(PlanOf("partime", 2)), ElementsAre("stage 1", "stage 2"));
  ScheduleRequest request = RequestOf({.stages = 2, .skips = {}});
  request.separate_backwards = true;
  EXPECT_THAT(RowNames(*MakePlan("stale", request)),
              ElementsAre("stage 1, forward", "stage 2", "stage 1, backward"));
  request = RequestOf({.stages = 3, .skips = {}});
  request.device_of = {0, 1, 0};
  EXPECT_THAT(RowNames(*MakePlan("interleaved", request)), ElementsAre("stages 1, 3", "stage 2"));
}

TEST(ChromeTraceTest, HasATrackADeviceAndMicroseconds) {
  const std::vector<TimelineEvent> events = {{1, {OperationKind::kForward, 2, 17, 17}, {3, 4.5}}};
  const std::string trace = ChromeTrace({{"run", events}}, 1000);
  EXPECT_THAT(trace, HasSubstr(R"json({"name":"thread_name","ph":"M","pid":1,"tid":2,)json"
                               R"json("args":{"name":"device 1"}})json"));
  EXPECT_THAT(trace, HasSubstr(R"json({"name":"F2(17)","cat":"forward","ph":"X","ts":3000.000,)json"
                               R"json("dur":1500.000,"pid":1,"tid":2,)json"
                               R"json("args":{"sample":17,"samples":1,"stage":2}})json"));
  EXPECT_THAT(trace, Not(HasSubstr("copies")));
}

TEST(ChromeTraceTest, ProcessesLieBelowEachOtherWithTracksOfTheirOwn) {
  const std::vector<TimelineEvent> events = {{0, {OperationKind::kForward, 1, 0, 0}, {0, 1}}};
  const std::string trace = ChromeTrace({{"plan", events}, {"run", events}}, 1);
  for (const char* track :
       {R"("pid":1,"tid":1,"args":{"name":"plan"})", R"("pid":2,"tid":2,"args":{"name":"run"})",
        R"("pid":2,"tid":2,"args":{"s)"}) {
    EXPECT_THAT(trace, HasSubstr(track));
  }
}

TEST(ChromeTraceTest, CopiesHaveTracksOfTheirOwn) {
  const Drawn drawn = Draw("partime", 2, kWithCopies);
  const std::string trace = ChromeTrace({{"plan", drawn.events, drawn.copies}}, 1);
  EXPECT_THAT(trace, HasSubstr("copies from device 1"));
  EXPECT_THAT(trace, HasSubstr(R"json("name":"copy F1(0)","cat":"copy")json"));
}

}  // namespace
}  // namespace millrace::pipeline
