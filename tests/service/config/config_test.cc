#include "service/config/config.h"

#include <cstddef>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_split.h"
#include "pipeline/decisions/update_policy.h"
#include "tests/service/support/config_texts.h"

namespace millrace::service {
namespace {

using pipeline::UpdatePolicyOptions;
using ::testing::ElementsAre;
using ::testing::IsSupersetOf;

TEST(ConfigTest, SampleLoads) {
  const absl::StatusOr<Config> config = LoadConfig(kSample);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->listen.address, "127.0.0.1");
  EXPECT_EQ(config->listen.grpc_port, 50051);
  EXPECT_EQ(config->listen.http_port, 8080);
  EXPECT_EQ(config->listen.metrics_port, 9464);
  ASSERT_EQ(config->streams.size(), 1u);
  const StreamConfig& street = config->streams.front();
  EXPECT_EQ(street.name, "street");
  EXPECT_EQ(street.source.uri, MILLRACE_SOURCE_DIR "/samples/../.deps/video/vtest.avi");
  EXPECT_TRUE(street.source.loop);
  EXPECT_TRUE(street.source.as_camera);
  EXPECT_EQ(street.source.width, street.learner.width);
  EXPECT_EQ(street.source.height, street.learner.height);
  EXPECT_EQ(street.learner.weights,
            MILLRACE_SOURCE_DIR "/samples/weights/refine-start.safetensors");
  EXPECT_EQ(street.learner.schedule, "auto");
  EXPECT_EQ(street.learner.frames_per_second, 0) << "the camera's";
  EXPECT_EQ(street.flow.learning.policy.kind, UpdatePolicyOptions::Kind::kEvery);
}

/// The sample with every optional key set. A comment sets a key if it is the key and one word, list
/// or mapping: "# every: 1". A sentence that begins with a word and a colon explains: "# every: n.
/// 1 is
/// ...".
std::string SampleWithAllKeys() {
  std::istringstream sample(SampleText());
  const std::regex key(R"(( *)# ([a-z0-9_]+: (\[[^\]]*\]|\{[^}]*\}|[^ ]+)))");
  std::string all;
  for (std::string line; std::getline(sample, line);) {
    std::smatch parts;
    all += std::regex_match(line, parts, key) ? parts.str(1) + parts.str(2) : line;
    all += "\n";
  }
  return all;
}

// The commented lines of the sample show defaults and examples: they must be right too.
TEST(ConfigTest, SampleLoadsWithEveryOptionalKeySet) {
  const absl::StatusOr<Config> config = ParseConfig(SampleWithAllKeys(), "sample");
  // The keys that do not go with the sample's schedule and a file.
  EXPECT_THAT(
      std::string(config.status().message()),
      testing::MatchesRegex(
          "sample:.* 'outputs' is for the tasks classification and regression only\n"
          "sample:.* 'classes' is for the tasks classification and regression only\n"
          "sample:.* 'window' is for the tasks classification and regression only\n"
          "sample:.* 'pictures' is for the tasks classification and regression only\n"
          "sample:.* 'layers' is for the tasks classification and regression only\n"
          "sample:.* 'width' is for the tasks classification and regression only\n"
          "sample:.* 'cuts' cannot be given with the kind auto, which cuts by itself\n"
          "sample:.* 'samples' is for the kinds gpipe, timeprest, pipedream_2bw, k_periodic only\n"
          "sample:.* 'connect_timeout_ms' is for cameras only\n"
          "sample:.* 'stall_timeout_ms' is for cameras only\n"
          "sample:.* 'backoff_ms' is for cameras only\n"
          "sample:.* 'transport' is for rtsp: and rtsps: only\n"
          "sample:.* 'latency_ms' is for rtsp: and rtsps: only\n"
          "sample:.* 'user' is for rtsp: and rtsps: only\n"
          "sample:.* 'password_file' is for rtsp: and rtsps: only\n"
          "sample:.* 'password_env' is for rtsp: and rtsps: only\n"
          "sample:.* 'tls_ca_file' is for rtsps: only\n"
          "sample:.* 'tls_verify' is for rtsps: only\n"
          "sample:[0-9]+:[0-9]+: 'test_frames_per_second' is for test: only"));
}

/// The keys that `yaml`'s one unknown key could have been.
std::vector<std::string> KnownKeys(const std::string& yaml) {
  const std::string message(ParseConfig(yaml, "c").status().message());
  constexpr std::string_view kList = "known here: ";
  const std::size_t at = message.find(kList);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + kList.size();
  return absl::StrSplit(message.substr(begin, message.find('\n', begin) - begin), ", ");
}

TEST(ConfigTest, SampleListsEveryKey) {
  std::vector<std::string> keys = KnownKeys("{unheard_of: 1}");
  const auto add = [&](const std::string& yaml) {
    const std::vector<std::string> more = KnownKeys(yaml);
    keys.insert(keys.end(), more.begin(), more.end());
  };
  for (const std::string& section : std::vector(keys)) add("{" + section + ": {unheard_of: 1}}");
  add("{streams: [{unheard_of: 1}]}");
  add("{streams: [{source: {unheard_of: 1}}]}");
  EXPECT_THAT(keys, IsSupersetOf({"listen", "grpc_port", "seed", "force_after", "name", "queue"}));

  const std::string sample = SampleWithAllKeys();
  for (const std::string& key : keys) {
    EXPECT_TRUE(std::regex_search(sample, std::regex("\n[ -]*" + key + ":"))) << key;
  }
}

TEST(ConfigTest, StreamsMayAllComeLater) {
  const auto config = ParseConfig("version: 1\nstreams: []\n", "c");
  ASSERT_TRUE(config.ok());
  EXPECT_THAT(config->streams, testing::IsEmpty());
}

TEST(ConfigTest, AnEntryOfAClientIsReadAsOneOfTheFile) {
  const auto config = ParseConfig("version: 1\nmodel: {learning_rate: 0.5}\nstreams: []\n", "c");
  ASSERT_TRUE(config.ok());
  const auto stream = ParseStreamEntry(
      R"({"name": "gate", "source": {"uri": "rtsp://c/1"}, "model": {"seed": "7"}})", "config",
      config->defaults);
  ASSERT_TRUE(stream.ok()) << stream.status();
  EXPECT_EQ(stream->name, "gate");
  EXPECT_EQ(stream->learner.optimizer.learning_rate, 0.5);
  EXPECT_EQ(stream->learner.seed, 7u);
  EXPECT_EQ(stream->entry, R"({"model":{"seed":"7"},"name":"gate","source":{"uri":"rtsp://c/1"}})");
}

TEST(ConfigTest, ClientSourcesAreRead) {
  const auto config = ParseConfig(
      "version: 1\nclient_sources: {schemes: [file, rtsp], hosts: 10.0.0.*, files: true}\n"
      "streams: []\n",
      "c");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_THAT(config->client_sources.schemes, testing::ElementsAre("file", "rtsp"));
  EXPECT_THAT(config->client_sources.hosts, testing::ElementsAre("10.0.0.*"));
  EXPECT_TRUE(config->client_sources.files);
}

void ExpectSame(const UpdatePolicyOptions& a, const UpdatePolicyOptions& b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.every, b.every);
  EXPECT_EQ(a.moving_share, b.moving_share);
  EXPECT_EQ(a.moving_pixels, b.moving_pixels);
  EXPECT_EQ(a.difference, b.difference);
  EXPECT_EQ(a.divergence, b.divergence);
  EXPECT_EQ(a.warm_up, b.warm_up);
  EXPECT_EQ(a.force_after, b.force_after);
}

/// The policy of the only stream in `yaml`.
UpdatePolicyOptions PolicyIn(const std::string& yaml) {
  const absl::StatusOr<Config> config = ParseConfig(yaml, "c");
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? config->streams.front().flow.learning.policy : UpdatePolicyOptions();
}

TEST(ConfigTest, SampleShowsTheDefaultsOfLearning) {
  const std::string all = SampleWithAllKeys();
  const std::size_t begin = all.find("\nlearning:\n");
  ASSERT_NE(begin, std::string::npos);
  ExpectSame(PolicyIn(File(all.substr(begin, all.find("\n\n", begin) - begin))), {});
}

TEST(ConfigTest, DefaultsAreThoseOfTheParts) {
  const absl::StatusOr<Config> config =
      ParseConfig("{version: 1, streams: [{name: a, source: {uri: 'test:ball'}}]}", "c");
  ASSERT_TRUE(config.ok()) << config.status();
  const StreamConfig& stream = config->streams.front();
  const StreamConfig defaults;
  EXPECT_EQ(stream.source.width, defaults.source.width);
  EXPECT_EQ(stream.source.queue_capacity, defaults.source.queue_capacity);
  EXPECT_EQ(stream.learner.optimizer.learning_rate, defaults.learner.optimizer.learning_rate);
  ExpectSame(stream.flow.learning.policy, {});
  EXPECT_EQ(config->listen.max_viewers, Listen().max_viewers);
}

TEST(ConfigTest, StreamsOwnKeysComeBeforeTheFilesModelAndSchedule) {
  const absl::StatusOr<Config> config = ParseConfig(R"(
version: 1
streams:
  - name: street
    source: {uri: street.avi}
  - name: yard
    source: {uri: "rtsp://camera/1"}
    model: {input: [640, 480]}
    schedule: {kind: partime, stages: 4, cuts: [1, 2, 3]}
model: {input: [192, 144], learning_rate: 0, seed: 9223372036854775807}
schedule: {stages: 3}
)",
                                                    "c");
  ASSERT_TRUE(config.ok()) << config.status();
  const StreamConfig& street = config->streams[0];
  EXPECT_EQ(street.learner.width, 192);
  EXPECT_EQ(street.source.height, 144);
  EXPECT_EQ(street.learner.stages, 3);
  EXPECT_EQ(street.learner.seed, 9223372036854775807U);
  const StreamConfig& yard = config->streams[1];
  EXPECT_EQ(yard.learner.width, 640);
  EXPECT_EQ(yard.learner.optimizer.learning_rate, 0);
  EXPECT_EQ(yard.learner.schedule, "partime");
  EXPECT_THAT(yard.learner.cuts, ElementsAre(1, 2, 3));
}

TEST(ConfigTest, ReadsEveryKeyOfLearning) {
  ExpectSame(PolicyIn(File("learning: {policy: diff, every: 2, moving_share: 0.3, moving_pixels: "
                           "4, difference: 0.5, divergence: 6, warm_up: 7, force_after: 8}")),
             {.kind = UpdatePolicyOptions::Kind::kDiff,
              .every = 2,
              .moving_share = 0.3,
              .moving_pixels = 4,
              .difference = 0.5,
              .divergence = 6,
              .warm_up = 7,
              .force_after = 8});
}

TEST(ConfigTest, ReadsEveryPolicyByItsName) {
  for (const std::string& name : pipeline::UpdatePolicyNames()) {
    EXPECT_EQ(PolicyIn(File("learning: {policy: " + name + "}")).kind,
              *pipeline::UpdatePolicyKind(name));
  }
}

TEST(ConfigTest, StreamsOwnLearningKeysComeBeforeTheFiles) {
  const absl::StatusOr<Config> config = ParseConfig(R"(
version: 1
streams:
  - name: street
    source: {uri: street.avi}
  - name: yard
    source: {uri: yard.avi}
    learning: {policy: div, divergence: 0.5, warm_up: 0}
  - name: gate
    source: {uri: gate.avi}
    learning: {moving_share: 0.2}
learning: {policy: mag, moving_share: 0.1, warm_up: 30, force_after: 50}
)",
                                                    "c");
  ASSERT_TRUE(config.ok()) << config.status();
  using enum UpdatePolicyOptions::Kind;
  const auto policy = [&](int stream) { return config->streams[stream].flow.learning.policy; };
  ExpectSame(policy(0), {.kind = kMag, .moving_share = 0.1, .warm_up = 30, .force_after = 50});
  ExpectSame(policy(1), {.kind = kDiv, .moving_share = 0.1, .divergence = 0.5, .force_after = 50});
  ExpectSame(policy(2), {.kind = kMag, .moving_share = 0.2, .warm_up = 30, .force_after = 50});
}

TEST(ConfigTest, EveryKeyOfTheOptimizerHasItsPlace) {
  const absl::StatusOr<Config> config = ParseConfig(R"(
version: 1
streams:
  - name: street
    source: {uri: street.avi}
  - name: yard
    source: {uri: yard.avi}
    optimizer: {kind: adamw, weight_decay: 0.02, beta1: 0.8, beta2: 0.95, eps: 1e-6}
  - name: gate
    source: {uri: gate.avi}
    optimizer: {momentum: 0.5, nesterov: false, spike_compensation: true}
  - name: door
    source: {uri: door.avi}
    optimizer: {kind: rmsprop}
optimizer: {kind: sgd, momentum: 0.9, nesterov: true, weight_decay: 0.01, clip_norm: 3, clip_update: 2, pipemare_steps: 70}
)",
                                                    "c");
  ASSERT_TRUE(config.ok()) << config.status();
  using Kind = pipeline::OptimizerOptions::Kind;
  const auto& street = config->streams[0].learner.optimizer;
  EXPECT_EQ(street.kind, Kind::kSgd);
  EXPECT_EQ(street.momentum, 0.9);
  EXPECT_TRUE(street.nesterov);
  EXPECT_FALSE(street.spike_compensation);
  EXPECT_EQ(street.weight_decay, 0.01);
  EXPECT_EQ(street.clip_norm, 3);
  EXPECT_EQ(street.clip_update, 0) << "the file's is for streams of rmsprop";
  EXPECT_EQ(street.pipemare_steps, 70);
  const auto& yard = config->streams[1].learner.optimizer;
  EXPECT_EQ(yard.kind, Kind::kAdamW);
  EXPECT_EQ(yard.momentum, 0) << "the file's is for streams of sgd";
  EXPECT_FALSE(yard.nesterov);
  EXPECT_EQ(yard.weight_decay, 0.02);
  EXPECT_EQ(yard.beta1, 0.8);
  EXPECT_EQ(yard.beta2, 0.95);
  EXPECT_EQ(yard.eps, 1e-6);
  EXPECT_EQ(yard.clip_norm, 3);
  const auto& gate = config->streams[2].learner.optimizer;
  EXPECT_EQ(gate.momentum, 0.5);
  EXPECT_FALSE(gate.nesterov);
  EXPECT_TRUE(gate.spike_compensation);
  EXPECT_EQ(config->streams[3].learner.optimizer.clip_update, 2);
}

TEST(ConfigTest, StreamsOwnScoreKeysComeBeforeTheFiles) {
  const absl::StatusOr<Config> config = ParseConfig(R"(
version: 1
streams:
  - name: street
    source: {uri: street.avi}
  - name: yard
    source: {uri: yard.avi}
    scores: {compare_with: dis_fast}
scores: {window_s: 30}
)",
                                                    "c");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->streams[0].scores.window_s, 30);
  EXPECT_EQ(config->streams[0].scores.compare_with, "none");
  EXPECT_EQ(config->streams[1].scores.window_s, 30);
  EXPECT_EQ(config->streams[1].scores.compare_with, "dis_fast");
}

TEST(ConfigTest, AnAliasOfOneBeforeStandsForTheSame) {
  const absl::StatusOr<Config> config = ParseConfig(
      "version: 1\nstreams:\n- {name: a, source: &s {uri: 'test:', max_fps: 5}}\n"
      "- {name: b, source: *s}\n",
      "c");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->streams.at(1).source.max_frames_per_second, 5);
}

TEST(ConfigTest, ANetworkMayBeAFile) {
  const auto config = ParseConfig(
      Stream("source: {uri: a.avi}, model: {network: nets/mine.pt, input: [80, 64]}"), "c");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->streams[0].flow.network, "nets/mine.pt");
}

}  // namespace
}  // namespace millrace::service
