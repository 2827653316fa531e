#include "service/config_reload.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/service/grpc_fixture.h"

namespace millrace::service {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kStreet[] = "{name: street, source: {uri: 'rtsp://user:secret@camera/1'}}";
constexpr char kYard[] = "{name: yard, source: {uri: 'rtsp://user:secret@camera/1'}}";

std::string File(const std::vector<std::string>& streams, const std::string& lines = "") {
  std::string text = absl::StrCat("version: 1\n", lines, "streams:");
  for (const std::string& stream : streams) absl::StrAppend(&text, "\n- ", stream);
  return text + (streams.empty() ? " []\n" : "\n");
}

/// Streams "street" and "yard", as the file says at first.
class ConfigReloadTest : public GrpcFixture {
 protected:
  ReloadOutcome Reload(const std::string& file) {
    file_ = file;
    const absl::StatusOr<ReloadOutcome> outcome = reload_.Apply();
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    return outcome.value_or(ReloadOutcome());
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
                        .control = &control_,
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
                ElementsAre(AllOf(HasSubstr("stream 'street': model.seed cannot change"))));
    EXPECT_EQ(Served("street")->run_id, run);
  }
}

TEST_F(ConfigReloadTest, AStreamThatCannotStartIsTriedAgain) {
  const std::string more = File({kStreet, kYard, "{name: gate, source: {uri: 'rtsp://camera/2'}}"});
  start_fails_ = absl::NotFoundError("there is no such camera");
  EXPECT_THAT(Reload(more).failed, ElementsAre("stream 'gate': there is no such camera"));
  EXPECT_THAT(Reload(more).added, ElementsAre("gate"));
}

TEST_F(ConfigReloadTest, AWrongFileChangesNothingAndIsSaid) {
  file_ = "version: 1\nstreams: [{name: street}]\n";
  const absl::StatusOr<ReloadOutcome> outcome = reload_.Apply();
  EXPECT_THAT(std::string(outcome.status().message()), HasSubstr("has no key 'source'"));
  EXPECT_THAT(Names(), ElementsAre("street", "yard"));
  EXPECT_THAT(read_, IsEmpty());
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
  const auto guest =
      ParseStreamEntry("{name: guest, source: {uri: 'rtsp://camera/3'}}", "config", StreamConfig());
  ASSERT_TRUE(control_.Create(*guest).ok());
  ASSERT_TRUE(street().Change({.learning_rate = 0.5}).ok());
  Reload(File({kStreet, kYard}));
  EXPECT_THAT(Names(), ElementsAre("street", "yard", "guest"));
  EXPECT_EQ(street().Snapshot().learning_rate, 0.5);
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
