#include "service/metrics/metrics.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "service/metrics/metrics_process.h"
#include "tests/service/support/borrowed_streams.h"
#include "tests/service/support/every_kind_of_stream.h"
#include "tests/service/support/fake_stream.h"
#include "tests/service/support/web_fakes.h"

namespace millrace::service {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

/// The lines of the text format that have `part` in them.
std::vector<std::string> LinesWith(const std::string& part, const std::string& text) {
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::StrContains(line, part)) lines.emplace_back(line);
  }
  return lines;
}

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
  StreamRecord record_{clock_, clock_.Now()};
  BorrowedStreams streams_ = {{stream_, record_}};
  CallCounts calls_;
  Metrics metrics_{
      {.streams = &streams_, .calls = &calls_, .viewers = [] { return std::size_t{1}; }}};
};

TEST(MetricsWindowTest, TheGainIsNoNumberBeforeTheFirstFullWindow) {
  FakeClock clock;
  FakeCameraStream stream("street");
  stream.CompareWith("dis");
  StreamRecord record(clock, clock.Now(), std::chrono::seconds(1));
  BorrowedStreams streams = {{stream, record}};
  const Metrics metrics({.streams = &streams});
  EXPECT_THAT(metrics.Text(),
              HasSubstr("millrace_pipeline_window_gain_ratio{stream=\"street\"} Nan\n"));
  for (int second = 0; second < 2; ++second) {
    Prediction prediction = *MovingDisc("street", second, 16, 16);
    prediction.stream_time = std::chrono::seconds(second);
    prediction.comparison = {.loss = 0.25, .loss_no_motion = 1, .loss_reference = 0.5};
    record.Record(prediction);
  }
  EXPECT_THAT(metrics.Text(),
              HasSubstr("millrace_pipeline_window_gain_ratio{stream=\"street\"} 1.5\n"));
}

TEST_F(MetricsTest, AStreamThatIsComparedWithNothingHasNoGain) {
  EXPECT_THAT(metrics_.Text(), Not(HasSubstr("millrace_pipeline_window_gain_ratio{")));
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
           "millrace_service_frames_unaccounted 0\n",
           "millrace_service_prediction_delay_seconds_count{stream=\"street\"} 3\n",
           "millrace_service_prediction_delay_seconds_bucket{stream=\"street\",le=\"0.133\"} 0\n",
           "millrace_service_prediction_delay_seconds_bucket{stream=\"street\",le=\"0.166\"} 3\n",
           // Of two stages, one has made 404, the other 405.
           "millrace_pipeline_updates_total{stream=\"street\"} 404\n",
           "millrace_pipeline_learner_state{stream=\"street\"} 1\n",
           "millrace_ingest_size_changes_total 2\n",
           "millrace_ingest_source_state{stream=\"street\"} 2\n",
           "millrace_ingest_source_transitions_total{stream=\"street\"} 10\n",
           "millrace_service_subscribers 2\n",
           "millrace_service_viewers 1\n",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST_F(MetricsTest, CountsEveryTransitionOfTheSource) {
  stream_.Set([](StreamSnapshot& snapshot) {
    snapshot.source.state = ingest::SourceState::kBackingOff;
    snapshot.source.entered = {4, 3, 2, 3, 0, 0, 0};
  });
  EXPECT_THAT(metrics_.Text(),
              AllOf(HasSubstr("millrace_ingest_source_transitions_total{stream=\"street\"} 12\n"),
                    HasSubstr("millrace_ingest_source_state{stream=\"street\"} 3\n")));
}

TEST_F(MetricsTest, ShowsWhatWasPromisedAndWhatIsGivenUp) {
  stream_.Set([](StreamSnapshot& snapshot) {
    snapshot.source.camera_frames_per_second = 25;
    snapshot.source.reconnects = 3;
    snapshot.promise = {.frames_per_second = 24, .delay_s = 0.0625};
    snapshot.overload.kind = OverloadKind::kDrops;
    snapshot.update_every = 4;
    snapshot.loads = {{.predicting = 0.25, .learning = 0.5}, {.predicting = 0.25}};
  });
  const std::string text = metrics_.Text();
  for (const char* const sample :
       {"ingest_announced_frames_per_second{stream=\"street\"} 25",
        "ingest_reconnects_total{stream=\"street\"} 3",
        "pipeline_promised_frames_per_second{stream=\"street\"} 24",
        "pipeline_promised_delay_seconds{stream=\"street\"} 0.0625",
        "pipeline_busiest_stage_load_ratio{stream=\"street\"} 0.75",
        "pipeline_update_every{stream=\"street\"} 4", "service_overload{stream=\"street\"} 4"}) {
    EXPECT_THAT(text, HasSubstr(absl::StrCat("\nmillrace_", sample, "\n")));
  }
}

TEST_F(MetricsTest, ShowsWhatProcessesSendToEachOther) {
  EXPECT_THAT(metrics_.Text(), Not(HasSubstr("link_load_ratio{")));
  stream_.Set([](StreamSnapshot& snapshot) {
    snapshot.ranks = {
        .expected = 2,
        .joined = 2,
        .links = {{.from = 1, .to = 0, .bytes = 7}, {.from = 0, .to = 1, .bytes = 5}}};
    snapshot.links = {{.from = 1, .to = 0, .share = 0.25}, {.from = 0, .to = 1, .share = 0.5}};
  });
  const std::string text = metrics_.Text();
  for (const char* const sample :
       {"pipeline_link_bytes_total{stream=\"street\",from=\"1\",to=\"0\"} 7",
        "pipeline_link_bytes_total{stream=\"street\",from=\"0\",to=\"1\"} 5",
        "pipeline_busiest_link_load_ratio{stream=\"street\"} 0.5"}) {
    EXPECT_THAT(text, HasSubstr(absl::StrCat("\nmillrace_", sample, "\n")));
  }
}

TEST_F(MetricsTest, CountsHowOftenItWasPlannedAgain) {
  EXPECT_THAT(metrics_.Text(),
              HasSubstr("millrace_pipeline_replans_total{outcome=\"switched\"} 0\n"));
  stream_.Describe([](pipeline::LearnerDescription& learner) {
    learner.rate_plan = {.switched = 2, .kept = 3};
  });
  EXPECT_THAT(metrics_.Text(),
              AllOf(HasSubstr("millrace_pipeline_replans_total{outcome=\"switched\"} 2\n"),
                    HasSubstr("millrace_pipeline_replans_total{outcome=\"kept\"} 3\n")));
}

TEST_F(MetricsTest, CountsPredictionsThatNothingWasLearnedFromByReason) {
  stream_.Set([](StreamSnapshot& snapshot) {
    std::iota(snapshot.skipped.begin(), snapshot.skipped.end(), 100);
  });
  const std::string name = "millrace_pipeline_updates_skipped_total{stream=\"street\",reason=";
  EXPECT_THAT(LinesWith("updates_skipped_total{", metrics_.Text()),
              UnorderedElementsAre(
                  // Repeated, frozen, a cut, by policy, unlabelled, held.
                  name + "\"unwanted\"} " + std::to_string(101 + 102 + 103 + 108 + 109 + 110),
                  name + "\"no_time\"} 107",
                  // Not finite, leaves the picture, too fast.
                  name + "\"implausible\"} " + std::to_string(104 + 105 + 106)));
}

TEST_F(MetricsTest, ShowsWhatHasBecomeOfLearning) {
  EXPECT_THAT(metrics_.Text(),
              AllOf(HasSubstr("millrace_pipeline_roll_backs_total{stream=\"street\"} 0\n"),
                    HasSubstr("millrace_pipeline_drifts_total{stream=\"street\"} 0\n")));
  stream_.Set([](StreamSnapshot& snapshot) {
    snapshot.learning = {.roll_backs = 2, .drifts = 3, .gradients_not_finite = 4};
    snapshot.learner_state = LearnerState::kPaused;
  });
  EXPECT_THAT(metrics_.Text(),
              AllOf(HasSubstr("millrace_pipeline_roll_backs_total{stream=\"street\"} 2\n"),
                    HasSubstr("millrace_pipeline_drifts_total{stream=\"street\"} 3\n"),
                    HasSubstr("millrace_pipeline_gradients_not_finite_total 4\n"),
                    HasSubstr("millrace_pipeline_learner_state{stream=\"street\"} 5\n")));
}

// In a query for the checkpoint's age, 0 would be a checkpoint of 1970.
TEST_F(MetricsTest, AStreamThatKeepsNoCheckpointsHasNoTimeOfTheLast) {
  EXPECT_THAT(metrics_.Text(), Not(HasSubstr("checkpoint_timestamp_seconds{")));
  stream_.Set([](StreamSnapshot& snapshot) {
    snapshot.learning.checkpoints.kept_until = std::chrono::milliseconds(1500);
  });
  EXPECT_THAT(metrics_.Text(),
              HasSubstr("millrace_pipeline_checkpoint_timestamp_seconds{stream=\"street\"} 1.5\n"));
}

TEST_F(MetricsTest, AddsUpHowLongCheckpointsTook) {
  stream_.Set([](StreamSnapshot& snapshot) {
    snapshot.learning.checkpoints.writing = std::chrono::milliseconds(250);
  });
  EXPECT_THAT(metrics_.Text(),
              HasSubstr("millrace_pipeline_checkpoint_writing_seconds_total 0.25\n"));
}

TEST_F(MetricsTest, AStreamThatIsDeletedLeavesNoSeries) {
  EXPECT_THAT(metrics_.Text(), HasSubstr("stream=\"street\""));
  streams_.Remove(streams_.All().front());
  EXPECT_THAT(metrics_.Text(), Not(HasSubstr("stream=\"")));
}

TEST_F(MetricsTest, WhatADeletedStreamCountedStaysInTheTotals) {
  streams_.All().front()->subscribers.sent = 7;
  EXPECT_THAT(metrics_.Text(), HasSubstr("millrace_service_subscriber_predictions_sent_total 7\n"));
  streams_.Remove(streams_.All().front());
  // Again and again: it is added once.
  for (int scrape = 0; scrape < 2; ++scrape) {
    EXPECT_THAT(metrics_.Text(),
                AllOf(HasSubstr("millrace_service_subscriber_predictions_sent_total 7\n"),
                      HasSubstr("millrace_service_subscribers 0\n")));
  }
  ASSERT_TRUE(streams_.Add(Borrowed(stream_, record_)).ok());
  streams_.All().front()->subscribers.sent = 2;
  EXPECT_THAT(metrics_.Text(), HasSubstr("millrace_service_subscriber_predictions_sent_total 9\n"));
}

TEST_F(MetricsTest, CountsCallsByMethodAndCode) {
  const std::string name = "millrace.v1.StreamService/GetStream";
  calls_.Expect({name});
  const std::string labels = "millrace_service_calls_total{method=\"" + name + "\",code=";
  EXPECT_THAT(metrics_.Text(),
              AllOf(HasSubstr(labels + "\"OK\"} 0\n"), HasSubstr(labels + "\"NOT_FOUND\"} 0\n"),
                    HasSubstr(labels + "\"UNAUTHENTICATED\"} 0\n")));
  calls_.Add(name, static_cast<int>(absl::StatusCode::kNotFound));
  EXPECT_THAT(metrics_.Text(),
              AllOf(HasSubstr(labels + "\"OK\"} 0\n"), HasSubstr(labels + "\"NOT_FOUND\"} 1\n")));
}

TEST_F(MetricsTest, HasOneHistogramOfHowLongCallsTook) {
  const std::string name = "millrace_service_call_duration_seconds";
  EXPECT_THAT(metrics_.Text(), HasSubstr(name + "_count 0\n"));
  calls_.AddDuration(std::chrono::milliseconds(20));
  calls_.AddDuration(std::chrono::seconds(60));
  EXPECT_THAT(metrics_.Text(),
              AllOf(HasSubstr(name + "_count 2\n"), HasSubstr(name + "_bucket{le=\"0.01\"} 0\n"),
                    HasSubstr(name + "_bucket{le=\"0.025\"} 1\n"),
                    HasSubstr(name + "_bucket{le=\"10\"} 1\n"),
                    HasSubstr(name + "_bucket{le=\"+Inf\"} 2\n")));
}

TEST_F(MetricsTest, TellsTheMemoryOfEachGpuOnce) {
  EXPECT_THAT(metrics_.Text(), Not(HasSubstr("gpu_memory_bytes{")));
  FakeCameraStream yard("yard");
  for (FakeCameraStream* stream : {&stream_, &yard}) {
    stream->PutOn({{.device = "cuda:0",
                    .allocated_bytes = 64,
                    .reserved_bytes = 256,
                    .free_bytes = 512,
                    .total_bytes = 1024}});
  }
  ASSERT_TRUE(streams_.Add(Borrowed(yard, record_)).ok());
  const std::string name = "millrace_pipeline_gpu_memory_bytes{device=\"cuda:0\",kind=";
  EXPECT_THAT(LinesWith("gpu_memory_bytes{", metrics_.Text()),
              UnorderedElementsAre(name + "\"allocated\"} 64", name + "\"reserved\"} 256",
                                   name + "\"free\"} 512", name + "\"total\"} 1024"));
}

TEST_F(MetricsTest, SaysWhetherTheConfigurationHolds) {
  ConfigStanding standing = {.holds = true, .held_at = std::chrono::milliseconds(2500)};
  const Metrics metrics({.streams = &streams_, .configuration = [&] { return standing; }});
  const std::string when = "millrace_service_config_reload_success_timestamp_seconds 2.5\n";
  EXPECT_THAT(metrics.Text(),
              AllOf(HasSubstr("millrace_service_config_reload_success 1\n"), HasSubstr(when)));
  standing.holds = false;
  EXPECT_THAT(metrics.Text(),
              AllOf(HasSubstr("millrace_service_config_reload_success 0\n"), HasSubstr(when)));
}

TEST_F(MetricsTest, SaysWhichVersionRunsAndWhetherItHasKernelsForCuda) {
  EXPECT_THAT(LinesWith("millrace_build_info{", metrics_.Text()),
              ElementsAre(ContainsRegex("version=\"[0-9.]+\",cuda=\"(true|false)\"} 1")));
}

/// The number of a stream's series in the text format: those of its histogram, and the others.
struct SeriesCount {
  std::size_t buckets = 0;
  std::size_t others = 0;
};

SeriesCount SeriesOf(const std::string& stream, const std::string& text) {
  SeriesCount count;
  for (const std::string& line : LinesWith("stream=\"" + stream + "\"", text)) {
    if (!absl::StartsWith(line, "millrace_service_prediction_delay_seconds_")) {
      ++count.others;
    } else if (absl::StrContains(line, "_bucket{")) {
      ++count.buckets;
    }
  }
  return count;
}

TEST(MetricsCardinalityTest, AStreamOfAnyKindHasAtMostTwentyEightSeriesBesideOneHistogram) {
  const EveryKindOfStream kinds;
  const std::string text = Metrics({.streams = &kinds.streams, .calls = &kinds.calls}).Text();
  for (const SharedStream& served : kinds.streams.All()) {
    const std::string& name = served->stream->config().name;
    const SeriesCount count = SeriesOf(name, text);
    const auto& ranks = served->stream->Snapshot().ranks;
    const std::size_t of_ranks = ranks ? 5 + ranks->links.size() : 0;
    EXPECT_LE(count.others, 28u + of_ranks) << name;
    EXPECT_GE(count.others, 15u) << name;
    EXPECT_LE(count.buckets, 20u) << name;
    EXPECT_GE(count.buckets, 10u) << name;
  }
  // The other one is of the calls of the whole server.
  EXPECT_EQ(LinesWith(" histogram", text).size(), 2u);
}

TEST_F(MetricsTest, NamesFollowTheConvention) {
  const std::set<std::string> known_by_every_client = {"process_cpu_seconds_total",
                                                       "process_resident_memory_bytes",
                                                       "process_virtual_memory_bytes",
                                                       "process_threads",
                                                       "process_start_time_seconds",
                                                       "process_open_fds",
                                                       "process_max_fds"};
  std::set<std::string> process;
  for (const prometheus::MetricFamily& family : metrics_.Collect()) {
    EXPECT_FALSE(family.help.empty()) << family.name;
    EXPECT_EQ(family.type == prometheus::MetricType::Counter, absl::EndsWith(family.name, "_total"))
        << family.name;
    if (!absl::StartsWith(family.name, "millrace_")) process.insert(family.name);
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

TEST_F(MetricsTest, ANotFiniteLossSpoilsNoSum) {
  Prediction bad = *MovingDisc("street", 4, 16, 16);
  bad.model.finite = false;
  bad.model.loss = std::numeric_limits<float>::quiet_NaN();
  record_.Record(bad);
  const std::string text = metrics_.Text();
  EXPECT_THAT(text, HasSubstr("millrace_pipeline_predictions_not_finite_total 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("} Nan")));
}

/// The value of a family in Prometheus' text format; adds up those of several labels.
double Sum(const std::string& text, const std::string& name) {
  double sum = 0;
  for (const std::string& line : LinesWith(name, text)) {
    if (absl::StartsWith(line, name)) sum += std::stod(line.substr(line.rfind(' ')));
  }
  return sum;
}

// A real stream under a load that overflows its queue, scraped all the while.
TEST(MetricsIdentityTest, HoldsInEveryScrape) {
  FakeStream fake = StartFakeStream(
      {.learner = {.width = 16, .height = 16, .predicts = FakeLearner::Predicts::kAtOnce}});
  StreamRecord record(*fake.clock, fake.clock->Now());
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
    EXPECT_GE(Sum(text, "millrace_ingest_frames_received_total"),
              Sum(text, "millrace_service_frames_predicted_total") +
                  Sum(text, "millrace_service_frames_dropped_total"));
    EXPECT_EQ(Sum(text, "millrace_service_frames_unaccounted"), 0);
    ++scrapes;
  }
  camera.join();
  fake.stream->Stop();
}

}  // namespace
}  // namespace millrace::service
