#include "service/metrics.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "service/metrics_process.h"
#include "tests/service/borrowed_streams.h"
#include "tests/service/fake_stream.h"
#include "tests/service/web_fakes.h"

namespace millrace::service {
namespace {

using ::testing::AllOf;
using ::testing::AnyOfArray;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class MetricsTest : public ::testing::Test {
 protected:
  MetricsTest() {
    for (std::int64_t number = 1; number <= 3; ++number) {
      record_.Record(*MovingDisc("street", number, 16, 16));
    }
    streams_.All().front()->subscribers.active = 2;
  }

  FakeClock clock_;
  FakeCameraStream stream_{"street"};
  RunRecorder record_{clock_, clock_.Now()};
  BorrowedStreams streams_ = {{stream_, record_}};
  Metrics metrics_{{.streams = &streams_, .viewers = [] { return std::size_t{1}; }}};
};

TEST(MetricsWindowTest, FiguresOfTheLastFullWindowComeOnceThereIsOne) {
  FakeClock clock;
  FakeCameraStream stream("street");
  RunRecorder record(clock, clock.Now(), std::chrono::seconds(1));
  BorrowedStreams streams = {{stream, record}};
  Metrics metrics({.streams = &streams, .viewers = [] { return std::size_t{0}; }});
  EXPECT_THAT(metrics.Text(), Not(HasSubstr("millrace_pipeline_window_loss_ratio{")));
  for (int second = 0; second < 2; ++second) {
    Prediction prediction = *MovingDisc("street", second, 16, 16);
    prediction.stream_time = std::chrono::seconds(second);
    prediction.comparison = {.loss = 0.25, .loss_no_motion = 1, .loss_reference = 0.5};
    prediction.model.skipped = pipeline::SkipReason::kCut;
    record.Record(prediction);
  }
  EXPECT_THAT(metrics.Text(),
              AllOf(HasSubstr("millrace_pipeline_window_loss_ratio{stream=\"street\"} 0.25"),
                    HasSubstr("millrace_pipeline_window_gain_ratio{stream=\"street\"} 1.5"),
                    HasSubstr("millrace_pipeline_window_learned_ratio{stream=\"street\"} 0")));
}

TEST_F(MetricsTest, PromtoolFindsNothingToSay) {
  const std::string path = ::testing::TempDir() + "/millrace_metrics_" + std::to_string(getpid());
  std::ofstream(path) << metrics_.Text();
  const std::string command =
      std::string(MILLRACE_PROMTOOL) + " check metrics < " + path + " > " + path + ".said 2>&1";
  const int result = std::system(command.c_str());
  std::ifstream said(path + ".said");
  EXPECT_EQ(result, 0);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(said), {}), "");
}

TEST_F(MetricsTest, ShowsEachFigureUnderItsNameAndLabels) {
  const std::string text = metrics_.Text();
  for (const char* line : {
           "millrace_ingest_frames_received_total{stream=\"street\"} 412\n",
           "millrace_service_frames_predicted_total{stream=\"street\"} 405\n",
           "millrace_service_frames_dropped_total{stream=\"street\",reason=\"queue_full\"} 3\n",
           "millrace_service_frames_dropped_total{stream=\"street\",reason=\"shutdown\"} 0\n",
           "millrace_service_frames_in_flight{stream=\"street\"} 3\n",
           "millrace_service_frames_unaccounted{stream=\"street\"} 0\n",
           "millrace_service_prediction_delay_seconds_count{stream=\"street\"} 3\n",
           "millrace_service_prediction_delay_seconds_bucket{stream=\"street\",le=\"0.13\"} 0\n",
           "millrace_service_prediction_delay_seconds_bucket{stream=\"street\",le=\"0.15\"} 3\n",
           "millrace_pipeline_updates_total{stream=\"street\",stage=\"2\"} 405\n",
           "millrace_pipeline_staleness_updates{stream=\"street\",stage=\"1\"} 1\n",
           "millrace_pipeline_learner_up{stream=\"street\"} 1\n",
           "millrace_ingest_size_changes_total{stream=\"street\"} 2\n",
           "millrace_ingest_source_state{stream=\"street\",state=\"streaming\"} 1\n",
           "millrace_ingest_source_state{stream=\"street\",state=\"backing_off\"} 0\n",
           "millrace_ingest_source_transitions_total{stream=\"street\",state=\"connecting\"} 3\n",
           "millrace_ingest_source_transitions_total{stream=\"street\",state=\"streaming\"} 2\n",
           "millrace_ingest_source_transitions_total{stream=\"street\",state=\"stalled\"} 4\n",
           "millrace_ingest_source_transitions_total{stream=\"street\",state=\"backing_off\"} 1\n",
           "millrace_ingest_source_transitions_total{stream=\"street\",state=\"ended\"} 0\n",
           "millrace_service_subscribers{stream=\"street\"} 2\n",
           "millrace_service_viewers 1\n",
           // MovingDisc() has 0.5 of the one and 2 of the other.
           "millrace_pipeline_loss_terms_total{stream=\"street\",term=\"photometric\"} 1.5\n",
           "millrace_pipeline_loss_terms_total{stream=\"street\",term=\"smoothness\"} 6\n",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST_F(MetricsTest, CountsHowOftenItWasPlannedAgain) {
  EXPECT_THAT(
      metrics_.Text(),
      HasSubstr("millrace_pipeline_replans_total{stream=\"street\",outcome=\"switched\"} 0\n"));
  stream_.Describe([](pipeline::LearnerDescription& learner) {
    learner.rate_plan = {.switched = 2, .kept = 3};
  });
  const std::string text = metrics_.Text();
  for (const char* line : {
           "millrace_pipeline_replans_total{stream=\"street\",outcome=\"switched\"} 2\n",
           "millrace_pipeline_replans_total{stream=\"street\",outcome=\"kept\"} 3\n",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST_F(MetricsTest, CountsPredictionsThatNothingWasLearnedFromByReason) {
  stream_.Set([](StreamSnapshot& snapshot) {
    std::iota(snapshot.skipped.begin(), snapshot.skipped.end(), 100);
  });
  const std::string text = metrics_.Text();
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::StartsWith(line, "millrace_pipeline_updates_skipped_total")) lines.emplace_back(line);
  }
  const std::string name = "millrace_pipeline_updates_skipped_total{stream=\"street\",reason=";
  EXPECT_THAT(lines,
              UnorderedElementsAre(name + "\"repeated\"} 101", name + "\"frozen\"} 102",
                                   name + "\"cut\"} 103", name + "\"non_finite\"} 104",
                                   name + "\"leaves_picture\"} 105", name + "\"too_fast\"} 106",
                                   name + "\"rate\"} 107", name + "\"policy\"} 108",
                                   name + "\"unlabelled\"} 109", name + "\"held\"} 110"));
}

TEST_F(MetricsTest, ShowsWhatHasBecomeOfLearning) {
  EXPECT_THAT(metrics_.Text(),
              AllOf(HasSubstr("millrace_pipeline_updates_skipped_total{stream=\"street\","
                              "reason=\"cut\"} 0\n"),
                    HasSubstr("millrace_pipeline_roll_backs_total{stream=\"street\"} 0\n"),
                    HasSubstr("millrace_pipeline_drifts_total{stream=\"street\"} 0\n"),
                    HasSubstr("millrace_pipeline_learning_rate_ratio{stream=\"street\"} 1\n")));
  stream_.Set([](StreamSnapshot& snapshot) {
    snapshot.learning = {
        .roll_backs = 2, .drifts = 3, .gradients_not_finite = 4, .rate_scale = 0.25};
  });
  EXPECT_THAT(
      metrics_.Text(),
      AllOf(HasSubstr("millrace_pipeline_roll_backs_total{stream=\"street\"} 2\n"),
            HasSubstr("millrace_pipeline_drifts_total{stream=\"street\"} 3\n"),
            HasSubstr("millrace_pipeline_gradients_not_finite_total{stream=\"street\"} 4\n"),
            HasSubstr("millrace_pipeline_learning_rate_ratio{stream=\"street\"} 0.25\n")));
}

TEST_F(MetricsTest, NamesFollowTheConvention) {
  const std::set<std::string> known_by_every_client = {"process_cpu_seconds_total",
                                                       "process_resident_memory_bytes",
                                                       "process_virtual_memory_bytes",
                                                       "process_threads",
                                                       "process_start_time_seconds",
                                                       "process_open_fds",
                                                       "process_max_fds"};
  for (const prometheus::MetricFamily& family : metrics_.Collect()) {
    EXPECT_TRUE(absl::StartsWith(family.name, "millrace_")) << family.name;
    EXPECT_EQ(family.type == prometheus::MetricType::Counter, absl::EndsWith(family.name, "_total"))
        << family.name;
    EXPECT_FALSE(family.help.empty()) << family.name;
  }
  std::set<std::string> process;
  for (const prometheus::MetricFamily& family : CollectProcessMetrics()) {
    process.insert(family.name);
  }
  EXPECT_EQ(process, known_by_every_client);
}

TEST_F(MetricsTest, ProcessFiguresArePlausible) {
  std::map<std::string, double> figures;
  for (const prometheus::MetricFamily& family : CollectProcessMetrics()) {
    const prometheus::ClientMetric& sample = family.metric.front();
    figures[family.name] = sample.counter.value + sample.gauge.value;
  }
  EXPECT_GT(figures["process_resident_memory_bytes"], 1e6);
  EXPECT_GE(figures["process_virtual_memory_bytes"], figures["process_resident_memory_bytes"]);
  EXPECT_GE(figures["process_threads"], 1);
  EXPECT_GE(figures["process_open_fds"], 3);
  EXPECT_GT(figures["process_max_fds"], figures["process_open_fds"]);
  const double now = std::chrono::duration<double>(WallTime()).count();
  EXPECT_NEAR(figures["process_start_time_seconds"], now, 3600);
}

std::string Documentation() {
  std::ifstream file(MILLRACE_METRICS_DOC);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(MetricsTest, EveryFamilyIsExplainedInTheDocumentation) {
  const std::string page = Documentation();
  for (const prometheus::MetricFamily& family : metrics_.Collect()) {
    EXPECT_THAT(page, HasSubstr("`" + family.name + "`"));
  }
}

TEST_F(MetricsTest, EveryMetricOfTheDocumentationExists) {
  std::set<std::string> names;
  for (const prometheus::MetricFamily& family : metrics_.Collect()) {
    names.insert(family.name);
    if (family.type != prometheus::MetricType::Histogram) continue;
    for (const char* suffix : {"_bucket", "_sum", "_count"}) names.insert(family.name + suffix);
  }
  const std::string page = Documentation();
  const std::regex name("millrace_[a-z0-9_]+");
  const std::set<std::string> mentioned(std::sregex_token_iterator(page.begin(), page.end(), name),
                                        {});
  EXPECT_FALSE(mentioned.empty());
  EXPECT_THAT(mentioned, Each(AnyOfArray(names)));
}

TEST_F(MetricsTest, EveryReasonIsExplainedInTheDocumentation) {
  std::vector<std::string_view> reasons;
  for (std::size_t i = 0; i < kDropReasons; ++i) {
    reasons.push_back(Name(static_cast<DropReason>(i)));
  }
  for (int i = 1; i < pipeline::kSkipReasons; ++i) {
    reasons.push_back(Name(static_cast<pipeline::SkipReason>(i)));
  }
  const std::string page = Documentation();
  for (const std::string_view reason : reasons) {
    EXPECT_THAT(page, HasSubstr("`" + std::string(reason) + "`"));
  }
}

TEST_F(MetricsTest, ANotFiniteLossSpoilsNoSum) {
  Prediction bad = *MovingDisc("street", 4, 16, 16);
  bad.model.finite = false;
  bad.model.loss = std::numeric_limits<float>::quiet_NaN();
  record_.Record(bad);
  const std::string text = metrics_.Text();
  EXPECT_THAT(text,
              HasSubstr("millrace_pipeline_predictions_not_finite_total{stream=\"street\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("} Nan")));
}

/// The value of a sample in Prometheus' text format; adds up those of several labels.
double Sum(const std::string& text, const std::string& name) {
  double sum = 0;
  std::size_t at = 0;
  while ((at = text.find("\n" + name + "{", at)) != std::string::npos) {
    sum += std::stod(text.substr(text.find("} ", at) + 2));
    ++at;
  }
  return sum;
}

// A real stream under a load that overflows its queue, scraped all the while.
TEST(MetricsIdentityTest, HoldsInEveryScrape) {
  FakeStream fake = StartFakeStream(
      {.learner = {.width = 16, .height = 16, .predicts = FakeLearner::Predicts::kAtOnce}});
  RunRecorder record(*fake.clock, fake.clock->Now());
  BorrowedStreams streams = {{*fake.stream, record}};
  const Metrics metrics({.streams = &streams});
  std::atomic<bool> done = false;
  std::jthread camera([&] {
    for (int i = 0; i < 2000; ++i) fake.source->Push();
    done = true;
  });
  int scrapes = 0;
  while (!done || scrapes == 0) {
    const std::string text = metrics.Text();
    EXPECT_EQ(Sum(text, "millrace_ingest_frames_received_total"),
              Sum(text, "millrace_service_frames_predicted_total") +
                  Sum(text, "millrace_service_frames_dropped_total") +
                  Sum(text, "millrace_service_frames_in_flight"));
    EXPECT_EQ(Sum(text, "millrace_service_frames_unaccounted"), 0);
    ++scrapes;
  }
  camera.join();
  fake.stream->Stop();
}

}  // namespace
}  // namespace millrace::service
