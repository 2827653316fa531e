// The metrics, the summary, the progress line and the live page of a stream that learns from
// labels.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/console/progress.h"
#include "service/console/summary.h"
#include "service/metrics/metrics.h"
#include "service/web/live_page.h"
#include "tests/service/support/borrowed_streams.h"
#include "tests/service/support/web_fakes.h"

namespace millrace::service {
namespace {

using nlohmann::json;
using pipeline::LabelTask;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

class LabelsShownTest : public testing::Test {
 protected:
  explicit LabelsShownTest(LabelTask task = LabelTask::kClassification) {
    stream_.Describe([task](pipeline::LearnerDescription& learner) {
      learner.labels = {.task = task, .outputs = 2, .classes = {}, .window = 8};
      if (task == LabelTask::kClassification) learner.labels->classes = {"shut", "open"};
    });
    stream_.Set([task](StreamSnapshot& snapshot) {
      snapshot.recent.loss_no_motion = 0;
      snapshot.labels = {.task = task,
                         .labels = {40, 2, 0, 0, 1, 0},
                         .scored = 40,
                         .right = 30,
                         .squared_error_sum = 10,
                         .recent_score = 0.8};
    });
    for (std::int64_t number = 0; number < 3; ++number) Predict(number);
  }

  // The first frame has no labels, and no loss.
  void Predict(std::int64_t number) {
    auto prediction = std::make_shared<Prediction>(*MovingDisc("door", number, 16, 16));
    pipeline::ModelPrediction& model = prediction->model;
    model.flow = nullptr;
    model.outputs = std::make_shared<const std::vector<float>>(std::vector<float>{0.25F, 0.75F});
    model.best_class = 1;
    model.labelled = static_cast<int>(number);
    model.loss = number == 0 ? 0.0F : 0.5F;
    model.loss_no_motion = 0;
    model.terms.clear();
    record_.Record(*prediction);
    stream_.ring().Publish(prediction);
  }

  std::string MetricsText() { return Metrics({.streams = &streams_}).Text(); }

  FakeClock clock_;
  FakeCameraStream stream_{"door"};
  StreamRecord record_{clock_, clock_.Now()};
  BorrowedStreams streams_ = {{stream_, record_}};
};

TEST_F(LabelsShownTest, MetricsCountLabelsAndWhatTheySayOfPredictions) {
  const std::string text = MetricsText();
  for (const char* line :
       {"millrace_service_labels_lost_total{stream=\"door\",reason=\"too_late\"} 2\n",
        "millrace_service_labels_lost_total{stream=\"door\",reason=\"other\"} 1\n",
        "millrace_pipeline_predictions_scored_total{stream=\"door\"} 40\n",
        "millrace_pipeline_predictions_right_total{stream=\"door\"} 30\n",
        "millrace_pipeline_loss_total{stream=\"door\"} 1\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("millrace_pipeline_squared_errors_total{")));
  EXPECT_THAT(text, Not(HasSubstr("no_motion_total{"))) << "a ratio to it would be infinite";
  // Its samples are single pictures: no frame is dropped for want of another.
  EXPECT_THAT(text, Not(HasSubstr("reason=\"gap\"")));
}

TEST_F(LabelsShownTest, AStreamOfFlowHasNoneOfThem) {
  FakeCameraStream street("street");
  BorrowedStreams streams = {{street, record_}};
  const std::string text = Metrics({.streams = &streams}).Text();
  EXPECT_THAT(text, Not(HasSubstr("labels_lost_total{")));
  EXPECT_THAT(text, Not(HasSubstr("scored_total{")));
}

TEST_F(LabelsShownTest, TheSummaryTellsTheAccuracy) {
  const std::vector<StreamSummary> streams = {Summarise(*Borrowed(stream_, record_))};
  const json summary = SummaryJson(streams);
  const json& stream = summary["streams"][0];
  EXPECT_EQ(stream["labels"]["outcomes"]["added"], 40);
  EXPECT_EQ(stream["labels"]["scored"], 40);
  EXPECT_EQ(stream["labels"]["accuracy"], 0.75);
  EXPECT_EQ(stream["labels"]["accuracy_last_200"], 0.8);
  EXPECT_EQ(stream["ratio_last_200"], nullptr);
  EXPECT_EQ(stream["scores"]["whole"], nullptr);
  EXPECT_THAT(SummaryText(streams),
              HasSubstr("labels    40 added, 2 too_late, 1 invalid; 75.0 % right, 80.0 % of the "
                        "last 200\n"));
}

TEST_F(LabelsShownTest, TheSummaryOfFlowHasNone) {
  FakeCameraStream street("street");
  const std::vector<StreamSummary> streams = {Summarise(*Borrowed(street, record_))};
  EXPECT_EQ(SummaryJson(streams)["streams"][0]["labels"], nullptr);
  EXPECT_THAT(SummaryText(streams), Not(HasSubstr("labels  ")));
}

TEST_F(LabelsShownTest, TheProgressLineTellsHowManyWereRight) {
  EXPECT_THAT(ProgressLine(stream_.Snapshot()), HasSubstr("dropped 4  right 80 %"));
  stream_.Set([](StreamSnapshot& snapshot) { snapshot.labels->scored = 0; });
  EXPECT_THAT(ProgressLine(stream_.Snapshot()), HasSubstr("dropped 4  right -"));
}

TEST_F(LabelsShownTest, ThePageHasTheClassesAndNoFlow) {
  LivePage page({.streams = &streams_, .clock = &clock_});
  const std::vector<HttpRoute> routes = page.Routes();
  const auto ask = [&routes](const std::string& path) {
    return Dispatch(routes, {.path = path, .query = "viewer=me", .remote_address = "127.0.0.1"});
  };
  const json stream = json::parse(ask("/api/streams/door").body);
  EXPECT_EQ(stream["learner"]["labels"]["names"], json({"shut", "open"}));
  EXPECT_EQ(stream["learner"]["labels"]["classes"], true);
  EXPECT_EQ(stream["learner"]["labels"]["window"], 8);
  EXPECT_EQ(stream["newest"]["outputs"], json({0.25, 0.75}));
  EXPECT_EQ(stream["newest"]["best_class"], 1);
  EXPECT_EQ(stream["newest"]["labelled"], 2);
  EXPECT_EQ(stream["labels"]["accuracy_last_200"], 0.8);
  EXPECT_EQ(ask("/streams/door/picture.jpg").status, 200);
  EXPECT_EQ(ask("/streams/door/flow.jpg").status, 404);
  EXPECT_EQ(ask("/answer.js").status, 200);
}

class ValuesShownTest : public LabelsShownTest {
 protected:
  ValuesShownTest() : LabelsShownTest(LabelTask::kRegression) {}
};

TEST_F(ValuesShownTest, TellTheSquaredErrorInstead) {
  EXPECT_THAT(MetricsText(),
              HasSubstr("millrace_pipeline_squared_errors_total{stream=\"door\"} 10\n"));
  EXPECT_THAT(MetricsText(), Not(HasSubstr("millrace_pipeline_predictions_right_total{")));
  EXPECT_THAT(ProgressLine(stream_.Snapshot()), EndsWith("  error 0.8"));
  const std::vector<StreamSummary> streams = {Summarise(*Borrowed(stream_, record_))};
  EXPECT_EQ(SummaryJson(streams)["streams"][0]["labels"]["squared_error"], 0.25);
  EXPECT_THAT(SummaryText(streams), HasSubstr("squared error 0.25, 0.8 of the last 200\n"));
}

}  // namespace
}  // namespace millrace::service
