#include "service/server/config_reload.h"

#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "service/metrics/log_limit.h"
#include "spdlog/sinks/ostream_sink.h"
#include "spdlog/spdlog.h"
#include "tests/service/support/grpc_fixture.h"

namespace millrace::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

constexpr char kStreet[] = "{name: street, source: {uri: 'rtsp://user:secret@camera/1'}}";
constexpr char kYard[] = "{name: yard, source: {uri: 'rtsp://user:secret@camera/1'}}";

std::string File(const std::vector<std::string>& streams, const std::string& lines = "") {
  std::string text = absl::StrCat("version: 1\n", lines, "streams:");
  for (const std::string& stream : streams) absl::StrAppend(&text, "\n- ", stream);
  return text + (streams.empty() ? " []\n" : "\n");
}

/// Streams "street" and "yard", as in the first version of the file.
class ConfigReloadTest : public GrpcFixture {
 protected:
  ConfigReloadTest() {
    const absl::StatusOr<Config> config = ParseConfig(file_, "file");
    MILLRACE_CHECK(config.ok());
    for (const StreamConfig& stream : config->streams) {
      MILLRACE_CHECK(changes_.Delete({.name = stream.name}).ok() && changes_.Create(stream).ok());
    }
  }

  ReloadOutcome Reload(const std::string& file) {
    file_ = file;
    const absl::StatusOr<ReloadOutcome> outcome = reload_.Apply();
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    return outcome.value_or(ReloadOutcome());
  }

  /// As a client says it: what it leaves out is as in the file.
  static StreamConfig Parsed(const std::string& entry) {
    const auto config = ParseStreamEntry(entry, "config", ParseConfig(File({}), "file")->defaults);
    EXPECT_TRUE(config.ok()) << config.status();
    return *config;
  }
  /// What a client's UpdateStream does.
  void ClientChanges(const std::string& name, const std::string& entry) {
    const auto updated = changes_.Update({.name = name}, Parsed(entry), /*allow_reset=*/true);
    EXPECT_TRUE(updated.ok()) << updated.status();
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const SharedStream& served : streams_.All()) names.push_back(served->config().name);
    return names;
  }

  std::string file_ = File({kStreet, kYard});
  std::stop_source stop_;
  std::vector<Config> read_;
  ConfigReload reload_{{.load = [this] { return ParseConfig(file_, "file"); },
                        .changes = &changes_,
                        .on_read = [this](const Config& config) { read_.push_back(config); },
                        .stop = stop_.get_token()},
                       *ParseConfig(file_, "file")};
};

TEST_F(ConfigReloadTest, TheSameFileChangesNothing) {
  const std::string run = Served("street")->run_id;
  const ReloadOutcome outcome = Reload(file_);
  EXPECT_EQ(Describe(outcome), "no stream has changed");
  EXPECT_THAT(outcome.take_restart, IsEmpty());
  EXPECT_EQ(Served("street")->run_id, run);
}

TEST_F(ConfigReloadTest, StreamsComeAndGoWithTheFile) {
  const ReloadOutcome outcome =
      Reload(File({kYard, "{name: gate, source: {uri: 'rtsp://camera/2'}}"}));
  EXPECT_THAT(outcome.added, ElementsAre("gate"));
  EXPECT_THAT(outcome.deleted, ElementsAre("street"));
  EXPECT_THAT(Names(), ElementsAre("yard", "gate"));
  EXPECT_EQ(Describe(outcome), "1 stream added, 1 deleted");
}

TEST_F(ConfigReloadTest, ADefaultChangesTheStreamsThatItHoldsFor) {
  const std::string run = Served("street")->run_id;
  const ReloadOutcome outcome =
      Reload(File({kStreet,
                   "{name: yard, source: {uri: 'rtsp://user:secret@camera/1'}, model: "
                   "{learning_rate: 0.0001}}"},
                  "model: {learning_rate: 0.003}\n"));
  EXPECT_THAT(outcome.changed, ElementsAre("street"));
  EXPECT_EQ(Served("street")->run_id, run) << "what it has learned is kept";
  EXPECT_EQ(street().Snapshot().learning_rate, 0.003);
  EXPECT_EQ(Served("yard")->stream->Snapshot().learning_rate, 0.0001);
}

TEST_F(ConfigReloadTest, AnotherCameraTakesTheSeat) {
  const std::string run = Served("street")->run_id;
  const ReloadOutcome outcome =
      Reload(File({"{name: street, source: {uri: 'rtsp://camera/7'}}", kYard}));
  EXPECT_THAT(outcome.changed, ElementsAre("street"));
  EXPECT_EQ(Served("street")->run_id, run);
  EXPECT_EQ(Served("street")->config().source.uri, "rtsp://camera/7");
}

TEST_F(ConfigReloadTest, WhatWouldForgetIsNamedAndLeftAndTriedAgain) {
  const std::string other = File(
      {"{name: street, source: {uri: 'rtsp://user:secret@camera/1'}, model: {seed: 7}}", kYard});
  const std::string run = Served("street")->run_id;
  for (int times = 0; times < 2; ++times) {
    const ReloadOutcome outcome = Reload(other);
    EXPECT_THAT(outcome.failed,
                ElementsAre(Pair("street", StartsWith("model.seed cannot change"))));
    EXPECT_EQ(Served("street")->run_id, run);
  }
}

TEST_F(ConfigReloadTest, OptionsOfTheOptimizerChangeAndItsKindDoesNot) {
  const ReloadOutcome outcome = Reload(
      File({"{name: street, source: {uri: 'rtsp://user:secret@camera/1'}, optimizer: {kind: sgd}}",
            kYard}));
  EXPECT_THAT(outcome.failed,
              ElementsAre(Pair(
                  "street", StartsWith("optimizer.kind cannot change while it learns: it keeps"))));
  ASSERT_EQ(Describe(Reload(File({kStreet, kYard}, "optimizer: {clip_update: 3}\n"))),
            "2 streams changed");
  EXPECT_EQ(Served("street")->config().learner.optimizer.clip_update, 3);
}

TEST_F(ConfigReloadTest, OnlyWhatWouldForgetIsNamed) {
  const ReloadOutcome outcome = Reload(File(
      {"{name: street, source: {uri: 'rtsp://camera/7'}, model: {seed: 7, learning_rate: 0.003}}",
       kYard}));
  EXPECT_THAT(outcome.failed, ElementsAre(Pair("street", StartsWith("model.seed cannot change"))));
  EXPECT_EQ(Served("street")->config().source.uri, "rtsp://user:secret@camera/1");
}

TEST_F(ConfigReloadTest, EachStreamThatFailsIsNamedInALogThatSumsUp) {
  const auto camera = [](int n) {
    return absl::StrCat("{name: cam", n, ", source: {uri: 'rtsp://camera/", n, "'}}");
  };
  const std::vector<std::string> streams = {kStreet, camera(1), camera(2), camera(3)};
  ASSERT_EQ(Describe(Reload(File(streams))), "3 streams added, 1 deleted");
  std::ostringstream log;
  LogCounts counts;
  FakeClock clock;
  const auto limit = std::make_shared<LogLimit>(
      LogLimit::Options{.to = std::make_shared<spdlog::sinks::ostream_sink_mt>(log),
                        .counts = &counts,
                        .clock = &clock});
  const auto before = spdlog::default_logger();
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("test", limit));
  Reload(File(streams, "model: {seed: 7}\n"));
  spdlog::set_default_logger(before);
  for (const char* const name : {"street", "cam1", "cam2", "cam3"}) {
    EXPECT_THAT(log.str(), HasSubstr(absl::StrCat("stream '", name, "': model.seed cannot")));
  }
}

TEST_F(ConfigReloadTest, AStreamThatCannotStartIsTriedAgain) {
  const std::string more = File({kStreet, kYard, "{name: gate, source: {uri: 'rtsp://camera/2'}}"});
  start_fails_ = absl::NotFoundError("there is no such camera");
  EXPECT_THAT(Reload(more).failed, ElementsAre(Pair("gate", "there is no such camera")));
  EXPECT_THAT(Reload(more).added, ElementsAre("gate"));
}

TEST_F(ConfigReloadTest, AWrongFileChangesNothingAndIsSaid) {
  file_ = "version: 1\nstreams: [{name: street}]\n";
  const absl::StatusOr<ReloadOutcome> outcome = reload_.Apply();
  EXPECT_THAT(std::string(outcome.status().message()), HasSubstr("has no key 'source'"));
  EXPECT_THAT(Names(), ElementsAre("street", "yard"));
  EXPECT_THAT(read_, IsEmpty());
}

TEST_F(ConfigReloadTest, WhatIsThrownIsAnErrorAndTheNextTimeItWorks) {
  bool throws = true;
  ConfigReload reload({.load = [&]() -> absl::StatusOr<Config> {
                         if (throws) throw std::runtime_error("no more threads");
                         return ParseConfig(file_, "file");
                       },
                       .changes = &changes_},
                      *ParseConfig(file_, "file"));
  EXPECT_EQ(reload.Apply().status().code(), absl::StatusCode::kInternal);
  EXPECT_FALSE(reload.standing().holds);
  throws = false;
  EXPECT_TRUE(reload.Apply().ok());
  EXPECT_TRUE(reload.standing().holds);
}

TEST_F(ConfigReloadTest, StandsByWhatCameOfItLast) {
  const ConfigStanding at_first = reload_.standing();
  EXPECT_TRUE(at_first.holds);
  EXPECT_GT(at_first.held_at.count(), 0);
  file_ = "streams: none";
  EXPECT_FALSE(reload_.Apply().ok());
  EXPECT_FALSE(reload_.standing().holds);
  EXPECT_EQ(reload_.standing().held_at, at_first.held_at);
  Reload(File({kStreet, kYard}));
  EXPECT_TRUE(reload_.standing().holds);
  start_fails_ = absl::NotFoundError("there is no such camera");
  Reload(File({kStreet, kYard, "{name: gate, source: {uri: 'rtsp://camera/2'}}"}));
  EXPECT_FALSE(reload_.standing().holds) << "the file is right, and cannot be followed";
}

TEST_F(ConfigReloadTest, WhatClientsHaveMadeStays) {
  ASSERT_TRUE(changes_.Create(Parsed("{name: guest, source: {uri: 'rtsp://camera/3'}}")).ok());
  ASSERT_TRUE(street().Change({.learning_rate = 0.5}).ok());
  Reload(File({kStreet, kYard}));
  EXPECT_THAT(Names(), ElementsAre("street", "yard", "guest"));
  EXPECT_EQ(street().Snapshot().learning_rate, 0.5);
}

TEST_F(ConfigReloadTest, WhatTheFileSaysAsBeforeStaysAsClientsHaveMadeIt) {
  ClientChanges("street", "{name: street, source: {uri: 'rtsp://camera/8'}}");
  const std::string run = Served("street")->run_id;
  const std::string rate = "model: {learning_rate: 0.003}\n";
  EXPECT_THAT(Reload(File({kStreet, kYard}, rate)).changed, ElementsAre("street", "yard"));
  EXPECT_EQ(Served("street")->run_id, run);
  EXPECT_EQ(Served("street")->config().source.uri, "rtsp://camera/8");
  EXPECT_EQ(street().Snapshot().learning_rate, 0.003);

  const std::string moved = "{name: street, source: {uri: 'rtsp://camera/7'}}";
  EXPECT_THAT(Reload(File({moved, kYard}, rate)).changed, ElementsAre("street"));
  EXPECT_EQ(Served("street")->config().source.uri, "rtsp://camera/7");
  EXPECT_EQ(street().Snapshot().learning_rate, 0.003);
}

TEST_F(ConfigReloadTest, WhatDoesNotGoWithWhatAClientHasMadeIsSaidAndLeft) {
  ClientChanges("street",
                "{name: street, source: {uri: 'rtsp://camera/1'}, model: {task: classification, "
                "outputs: 3}}");
  const std::string run = Served("street")->run_id;
  const ReloadOutcome outcome = Reload(
      File({"{name: street, source: {uri: 'rtsp://user:secret@camera/1'}, learning: {every: 2}}",
            kYard}));
  EXPECT_THAT(outcome.failed, ElementsAre(Pair("street", HasSubstr("does not go with what clients "
                                                                   "have made of it"))));
  EXPECT_EQ(Served("street")->run_id, run);
}

TEST_F(ConfigReloadTest, AStreamThatAClientHasDeletedComesBackWhenItsEntryChanges) {
  ASSERT_TRUE(changes_.Delete({.name = "street"}).ok());
  EXPECT_EQ(Describe(Reload(File({kStreet, kYard}))), "no stream has changed");
  EXPECT_THAT(Names(), ElementsAre("yard"));
  const ReloadOutcome outcome =
      Reload(File({"{name: street, source: {uri: 'rtsp://camera/7'}}", kYard}));
  EXPECT_THAT(outcome.added, ElementsAre("street"));
  EXPECT_THAT(outcome.changed, IsEmpty());
  EXPECT_EQ(Served("street")->config().source.uri, "rtsp://camera/7");
  EXPECT_THAT(Reload(File({kYard})).deleted, ElementsAre("street")) << "it is the file's again";
}

TEST_F(ConfigReloadTest, AStreamThatAClientHasDeletedStaysAwayWhereOnlyADefaultChanges) {
  ASSERT_TRUE(changes_.Delete({.name = "street"}).ok());
  const ReloadOutcome outcome = Reload(File({kStreet, kYard}, "model: {learning_rate: 0.003}\n"));
  EXPECT_EQ(Describe(outcome), "1 stream changed");
  EXPECT_THAT(Names(), ElementsAre("yard"));
}

TEST_F(ConfigReloadTest, AClientsStreamOfTheFilesNameIsTheClients) {
  ASSERT_TRUE(changes_.Delete({.name = "street"}).ok());
  ASSERT_TRUE(changes_.Create(Parsed("{name: street, source: {uri: 'rtsp://camera/9'}}")).ok());
  const std::string moved = "{name: street, source: {uri: 'rtsp://camera/7'}}";
  EXPECT_THAT(Reload(File({moved, kYard})).failed,
              ElementsAre(Pair("street", HasSubstr("a client has added a stream 'street'"))));
  EXPECT_EQ(Served("street")->config().source.uri, "rtsp://camera/9");
  EXPECT_THAT(Reload(File({kYard})).deleted, IsEmpty());
  EXPECT_THAT(Names(), ElementsAre("yard", "street"));
}

TEST_F(ConfigReloadTest, AStreamOfTheFileThatAClientHasChangedIsTheFilesStill) {
  ClientChanges("street", "{name: street, source: {uri: 'rtsp://camera/8'}, model: {seed: 7}}");
  EXPECT_THAT(Reload(File({kYard})).deleted, ElementsAre("street"));
}

TEST_F(ConfigReloadTest, WithoutABudgetTheFilesStreamsMayTakeMoreThanThereIs) {
  budget_gate_.SetBudget({});
  StreamConfig guest = Parsed("{name: guest, source: {uri: 'rtsp://camera/3'}}");
  guest.learner.frames_per_second = 1e6;
  EXPECT_TRUE(absl::IsResourceExhausted(changes_.Create(guest).status()));
  const ReloadOutcome outcome =
      Reload(File({kStreet, kYard, "{name: gate, source: {uri: 'rtsp://camera/2'}}"}));
  EXPECT_THAT(outcome.added, ElementsAre("gate"));
}

TEST_F(ConfigReloadTest, WhatListensTakesARestartAndIsNamedUntilThen) {
  for (int times = 0; times < 2; ++times) {
    const ReloadOutcome outcome = Reload(
        File({kStreet, kYard}, "listen: {grpc_port: 7, max_viewers: 3}\nbudget: {cores: 2}\n"));
    EXPECT_THAT(outcome.take_restart, ElementsAre("listen.grpc_port", "listen.max_viewers"));
  }
  ASSERT_EQ(read_.size(), 2u);
  EXPECT_EQ(read_[0].budget.cores, 2) << "what can change is told";
}

TEST_F(ConfigReloadTest, NothingIsChangedOnceTheServerStops) {
  stop_.request_stop();
  EXPECT_EQ(Describe(Reload(File({}))), "no stream has changed");
  EXPECT_THAT(Names(), ElementsAre("street", "yard"));
}

}  // namespace
}  // namespace millrace::service
