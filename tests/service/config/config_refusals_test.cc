// Refused configurations, with their messages and places.
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "base/error_reason.h"
#include "service/config/config.h"
#include "tests/service/support/config_texts.h"

namespace millrace::service {
namespace {

using ::testing::HasSubstr;

TEST(ConfigTest, NamesEveryErrorInTheOrderOfTheFile) {
  const absl::Status status = ParseConfig(R"(version: 1
listen: {adress: 127.0.0.1, grpc_port: 70000}
streams:
  - name: a b
    source:
      uri: http://x
      loop: yes
    model:
      input: [320, 241]
      learning_rate: ~
    schedule: {kind: partme, stages: 3, cuts: [2, 1, 1]}
  - source: {}
    foo: 1
    foo: 2
)",
                                          "c.yaml")
                                  .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(
      status.message(),
      "c.yaml:2:10: unknown key 'adress'; did you mean 'address'?\n"
      "c.yaml:2:40: 'grpc_port' is '70000'; it must be a whole number from 0 to 65535\n"
      "c.yaml:4:11: 'name' is 'a b'; it must be at most 64 letters, digits, '-' and '_'\n"
      "c.yaml:6:12: 'uri' begins with 'http:'; it must be a path, file:, rtsp:, rtsps:, v4l2:, "
      "push: or test:\n"
      "c.yaml:7:13: 'loop' is 'yes'; it must be true or false\n"
      "c.yaml:9:20: entry 2 of 'input' is '241'; it must be a whole number from 64 to 2048, "
      "a multiple of 16\n"
      "c.yaml:10:7: 'learning_rate' is empty; it must be a number from 0 to 1\n"
      "c.yaml:11:22: 'kind' is 'partme'; it must be one of auto, sequential, "
      "one_f_one_b_star, one_f_one_b_one_w, partime, recompute, stale, hybrid, local, pipedream, "
      "pipedream_2bw, "
      "gpipe, "
      "timeprest, k_periodic, interleaved, delayed\n"
      "c.yaml:11:47: 'cuts' has 3 entries; 3 stages need 2\n"
      "c.yaml:11:47: 'cuts' must rise from entry to entry\n"
      "c.yaml:12:5: entry 2 of 'streams' has no key 'name', which it needs\n"
      "c.yaml:12:13: 'source' has no key 'uri', which it needs\n"
      "c.yaml:13:5: unknown key 'foo'; known here: name, source, model, schedule, optimizer, "
      "learning, scores, checkpoints\n"
      "c.yaml:14:5: key 'foo' is there twice");
}

struct BadFile {
  std::string title;
  std::string yaml;
  std::string message;
};

void PrintTo(const BadFile& file, std::ostream* out) { *out << file.title; }

class BadConfigTest : public testing::TestWithParam<BadFile> {};

TEST_P(BadConfigTest, IsRefusedWithItsPlace) {
  const absl::Status status = ParseConfig(GetParam().yaml, "c").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Syntax, BadConfigTest,
    testing::ValuesIn(std::vector<BadFile>{
        {"Empty", "", "c:1:1: the file is empty; begin with 'version: 1'"},
        {"OnlyAComment", "# nothing\n", "c:1:1: the file is empty; begin with 'version: 1'"},
        {"Null", "~\n", "c:1:1: the file is empty; begin with 'version: 1'"},
        {"OpenList", "version: 1\nstreams: [\n",
         "c:3:1: this is not YAML: end of sequence flow not found"},
        {"TwoColons", "a: b: c\n", "c:1:5: this is not YAML: illegal map value"},
        {"Tab", "version: 1\nstreams:\n\t- name: a\n",
         "c:3:2: this is not YAML: illegal block entry"},
        {"List", "- 1\n",
         "c:1:1: the file must be a mapping, 'key: value' lines indented below it"},
        {"Scalar", "hello\n",
         "c:1:1: the file must be a mapping, 'key: value' lines indented below it"},
        {"TwoDocuments", "version: 1\n---\nversion: 1\n",
         "c:1:1: there is more than one document; keep just one"},
        // yaml-cpp finds ever more empty documents before a comma.
        {"CommaFirst", ",\n", "c:1:1: there is more than one document; keep just one"},
        {"CommaAfterADocument", "version: 1\n---\n,\n",
         "c:1:1: there is more than one document; keep just one"},
        {"ListAsKey", File("? [a]\n: 1"), "c:3:3: a key must be a single word"},
        {"KeyOfAnotherSection",
         File("model: {kind: sequential, cores: 8, max_fps: 5}\nsource: {uri: 'test:'}\nkey: 1"),
         "c:3:9: unknown key 'kind'; it belongs in 'optimizer' or 'schedule'\n"
         "c:3:27: unknown key 'cores'; it belongs in 'budget'\n"
         "c:3:37: unknown key 'max_fps'; it belongs in 'source'\n"
         "c:4:1: unknown key 'source'; it belongs in 'streams'\n"
         "c:5:1: unknown key 'key'; it belongs in 'listen.tls'"},
        {"MergeKey", File("<<: {version: 1}"),
         "c:3:1: unknown key '<<'; known here: version, listen, model, schedule, "
         "optimizer, learning, scores, checkpoints, client_sources, budget, ranks, streams"}}),
    [](const auto& tested) { return tested.param.title; });

INSTANTIATE_TEST_SUITE_P(
    Files, BadConfigTest,
    testing::ValuesIn(std::vector<BadFile>{
        {"NoVersion", "streams: [{name: a, source: {uri: 'test:'}}]\n",
         "c:1:1: the file has no key 'version', which it needs"},
        {"LaterVersion", "version: 2\nstreams: [{name: a, source: {uri: 'test:'}}]\n",
         "c:1:10: 'version' is '2'; it must be 1"},
        {"NoStreams", "version: 1\n", "c:1:1: the file has no key 'streams', which it needs"},
        {"EmptyStreams", "version: 1\nstreams:\n\n\nlisten: {}\n",
         "c:2:1: 'streams' must be a list of 0 to 64 entries"},
        {"ManyStreams",
         "version: 1\nstreams: [" + absl::StrJoin(std::vector<int>(65, 1), ",") + "]",
         "c:2:10: 'streams' has 65 entries; it must have 0 to 64"},
        {"StreamIsText", "version: 1\nstreams: [street]\n",
         "c:2:11: entry 1 of 'streams' must be a mapping, 'key: value' lines indented below it"},
        {"SameName",
         "version: 1\nstreams:\n- {name: a, source: {uri: x}}\n- {name: a, source: {uri: y}}\n",
         "c:4:10: 'name' is 'a', as that of a stream before; names must differ"},
        {"AddressIsAName", File("listen: {address: localhost}"),
         "c:3:19: 'address' is 'localhost'; it must be an IP address: 127.0.0.1 for this machine "
         "only, 0.0.0.0 for every network"},
        {"PortIsText", File("listen: {http_port: http}"),
         "c:3:21: 'http_port' is 'http'; it must be a whole number from 0 to 65535"},
        {"PortIsHexadecimal", File("listen: {http_port: 0x50}"),
         "c:3:21: 'http_port' is '0x50'; it must be a whole number from 0 to 65535"},
        {"PortIsEmpty", File("listen:\n  http_port:\n\n  grpc_port: 1"),
         "c:4:3: 'http_port' is empty; it must be a whole number from 0 to 65535"},
        {"SamePort", File("listen: {grpc_port: 9000, http_port: 9000}"),
         "c:3:38: 'http_port' is 9000, which another port is already"},
        {"PortOfADefault", File("listen: {grpc_port: 8080, http_port: 8080, metrics_port: 8080}"),
         "c:3:38: 'http_port' is 8080, which another port is already\n"
         "c:3:58: 'metrics_port' is 8080, which another port is already"},
        {"NoViewers", File("listen: {max_viewers: 0}"),
         "c:3:23: 'max_viewers' is '0'; it must be a whole number from 1 to 1000"},
        {"FileCutsDoNotFit", File("schedule: {stages: 3, cuts: [1]}"),
         "c:2:11: entry 1 of 'streams' has a schedule whose 'cuts' has 1 entry; 3 stages need "
         "2"}}),
    [](const auto& tested) { return tested.param.title; });

INSTANTIATE_TEST_SUITE_P(
    Streams, BadConfigTest,
    testing::ValuesIn(std::vector<BadFile>{
        {"NoSource", "version: 1\nstreams:\n- name: a\n",
         "c:3:3: entry 1 of 'streams' has no key 'source', which it needs"},
        {"SourceIsText", Stream("source: street.avi"),
         "c:3:21: 'source' must be a mapping, 'key: value' lines indented below it"},
        {"UriIsEmpty", Stream("source: {uri: ''}"), "c:3:27: 'uri' is empty; it must be a text"},
        {"UriIsAList", Stream("source: {uri: [a]}"), "c:3:27: 'uri' is a list; it must be a text"},
        {"CameraLoops", Stream("source: {uri: 'rtsp://camera/1', loop: true}"),
         "c:3:52: 'loop' is for files only"},
        {"TestAsCamera", Stream("source: {uri: 'test:', as_camera: true}"),
         "c:3:47: 'as_camera' is for files and push: only"},
        {"FileWithTestRate", Stream("source: {uri: a.avi, test_frames_per_second: 5}"),
         "c:3:58: 'test_frames_per_second' is for test: only"},
        {"LongQueue", Stream("source: {uri: a.avi, queue: 65}"),
         "c:3:41: 'queue' is '65'; it must be a whole number from 1 to 64"},
        {"OtherNetwork", Stream("source: {uri: a.avi}, model: {network: depth}"),
         "c:3:52: 'network' is 'depth'; it must be one of refine, flow, levels, ndconv, resunet, "
         "flownets, or a file NAME.pt that torch.jit.save() wrote"},
        {"OtherReference", Stream("source: {uri: a.avi}, scores: {compare_with: raft}"),
         "c:3:58: 'compare_with' is 'raft'; it must be one of none, prior, dis, dis_fine, "
         "dis_fast, "
         "dis_ultrafast, farneback"},
        {"OtherOptimizer", Stream("source: {uri: a.avi}, optimizer: {kind: lion, momentum: 0.9}"),
         "c:3:53: 'kind' is 'lion'; it must be one of " +
             absl::StrJoin(pipeline::OptimizerNames(), ", ")},
        {"MomentumOfAdam", Stream("source: {uri: a.avi}, optimizer: {kind: adam, momentum: 0.9}"),
         "c:3:69: 'momentum' is for the kind sgd only: leave it out, or set kind: sgd"},
        {"MomentumForAll",
         Stream("source: {uri: a.avi}") + "optimizer: {kind: adam, momentum: 0.9}\n",
         "c:4:35: 'momentum' is for the kind sgd only: leave it out, or set kind: sgd"},
        {"WholeMomentum", Stream("source: {uri: a.avi}, optimizer: {kind: sgd, momentum: 1}"),
         "c:3:68: 'momentum' is '1'; it must be a number from 0 to 0.999999"},
        {"NesterovAlone", Stream("source: {uri: a.avi}, optimizer: {kind: sgd, nesterov: true}"),
         "c:3:68: 'nesterov' needs a momentum above 0, such as momentum: 0.9"},
        {"ClipOfAdam", Stream("source: {uri: a.avi}, optimizer: {kind: adam, clip_update: 2}"),
         "c:3:72: 'clip_update' is for the kind rmsprop only: leave it out, or set kind: rmsprop"},
        {"TinyClip", Stream("source: {uri: a.avi}, optimizer: {clip_update: 1e-9}"),
         "c:3:60: 'clip_update' must be 0, or 0.000001 or more"},
        {"LocalWithoutLevels", Stream("source: {uri: a.avi}, schedule: {kind: local}"),
         "c:3:52: 'kind' is local, which needs the network levels"},
        {"SizeOfAnotherNetwork",
         Stream("source: {uri: a.avi}, model: {network: flownets, input: [352, 256]}"),
         "c:3:69: 'input' is 352x256; the network flownets needs multiples of 64"},
        {"OcclusionAsPublished", Stream("source: {uri: a.avi}, model: {loss: hs, occlusion: true}"),
         "c:3:64: 'occlusion' is for the losses relative, census and ssim only"},
        {"OcclusionOfTheNextFrame",
         Stream("source: {uri: a.avi}, model: {task: next_frame, occlusion: true}"),
         "c:3:72: 'occlusion' needs the flow there and back: not for task next_frame"},
        {"ReferenceForTheNextFrame",
         Stream("source: {uri: a.avi}, model: {task: next_frame}, scores: {compare_with: dis}"),
         "c:3:85: 'compare_with' compares motion: not for task next_frame"},
        {"OtherLoss", Stream("source: {uri: a.avi}, model: {loss: l2}"),
         "c:3:49: 'loss' is 'l2'; it must be one of relative, census, ssim, photo_and_smooth, hs"},
        {"OneNumberAsInput", Stream("source: {uri: a.avi}, model: {input: [320]}"),
         "c:3:50: 'input' has 1 entry; it must have 2"},
        {"RateIsNotANumber", Stream("source: {uri: a.avi}, model: {learning_rate: nan}"),
         "c:3:58: 'learning_rate' is 'nan'; it must be a number from 0 to 1"},
        {"NegativeSeed", Stream("source: {uri: a.avi}, model: {seed: -1}"),
         "c:3:49: 'seed' is '-1'; it must be a whole number from 0 to 9223372036854775807"},
        {"NineStages", Stream("source: {uri: a.avi}, schedule: {stages: 9}"),
         "c:3:54: 'stages' is '9'; it must be a whole number from 1 to 8"},
        {"PeriodOfPartime", Stream("source: {uri: a.avi}, schedule: {kind: partime, period_ms: 5}"),
         "c:3:72: 'period_ms' is for the kinds one_f_one_b_star, one_f_one_b_one_w, interleaved "
         "only"},
        {"PlacementOfOtherKinds",
         Stream("source: {uri: a.avi}, schedule: {kind: stale, stages: 2, placement: [0, 1]}"),
         "c:3:81: 'placement' is for the kind interleaved only"},
        {"PlacementOfTooFew",
         Stream(
             "source: {uri: a.avi}, schedule: {kind: interleaved, stages: 3, placement: [0, 1]}"),
         "c:3:87: 'placement' has 2 entries; 3 stages need 3"},
        {"PlacementWithAGap",
         Stream("source: {uri: a.avi}, schedule: {kind: interleaved, placement: [0, 2, 0]}"),
         "c:3:76: 'placement' names thread 2 but not thread 1; number the threads without a gap"},
        {"StageRatesOfTooFew",
         Stream("source: {uri: a.avi}, schedule: {kind: partime, stages: 2, stage_rates: [1]}"),
         "c:3:85: 'stage_rates' has 1 entry; 2 stages need 2"},
        {"NegativeStageRate",
         Stream("source: {uri: a.avi}, schedule: {kind: partime, stages: 1, stage_rates: [-1]}"),
         "c:3:86: entry 1 of 'stage_rates' is '-1'; it must be a number from 0 to 1000"},
        {"StageRatesOfAuto", Stream("source: {uri: a.avi}, schedule: {stage_rates: [1, 1]}"),
         "c:3:59: 'stage_rates' cannot be given with the kind auto, which chooses the stages: set "
         "kind and stages"},
        {"SeparateBackwardsOfOtherKinds",
         Stream("source: {uri: a.avi}, schedule: {kind: partime, separate_backwards: true}"),
         "c:3:81: 'separate_backwards' is for the kinds stale, hybrid only"},
        {"AutoWithCuts", Stream("source: {uri: a.avi}, schedule: {kind: auto, cuts: [2]}"),
         "c:3:64: 'cuts' cannot be given with the kind auto, which cuts by itself"},
        {"RateOfGpipe",
         Stream("source: {uri: a.avi}, schedule: {kind: gpipe, frames_per_second: 5}"),
         "c:3:78: 'frames_per_second' is for the kind auto only"},
        {"ReplanShareOfPartime",
         Stream("source: {uri: a.avi}, schedule: {kind: partime, replan_share: 0.5}"),
         "c:3:75: 'replan_share' is for the kind auto only"},
        {"NegativeReplanShare",
         Stream("source: {uri: a.avi}, schedule: {kind: auto, frames_per_second: 5, replan_share: "
                "-1}"),
         "c:3:94: 'replan_share' is '-1'; it must be a number from 0 to 100"},
        {"OtherRecompute", Stream("source: {uri: a.avi}, schedule: {kind: gpipe, recompute: all}"),
         "c:3:70: 'recompute' is 'all'; it must be one of always, except_last, never"}}),
    [](const auto& tested) { return tested.param.title; });

INSTANTIATE_TEST_SUITE_P(
    Learning, BadConfigTest,
    testing::ValuesIn(std::vector<BadFile>{
        {"LearningIsText", File("learning: every"),
         "c:3:11: 'learning' must be a mapping, 'key: value' lines indented below it"},
        {"OtherPolicy", File("learning: {policy: sometimes}"),
         "c:3:20: 'policy' is 'sometimes'; it must be one of every, mag, diff, div"},
        {"PolicyIsEmpty", File("learning:\n  policy:"),
         "c:4:3: 'policy' is empty; it must be one of every, mag, diff, div"},
        {"EveryZeroth", File("learning: {every: 0}"),
         "c:3:19: 'every' is '0'; it must be a whole number from 1 to 1000000"},
        {"MoreThanAll", File("learning: {moving_share: 2}"),
         "c:3:26: 'moving_share' is '2'; it must be a number from 0 to 1"},
        {"LessThanStill", File("learning: {moving_pixels: -0.1}"),
         "c:3:27: 'moving_pixels' is '-0.1'; it must be a number from 0 to 1000"},
        {"DifferenceInGreyLevels", File("learning: {difference: 3}"),
         "c:3:24: 'difference' is '3'; it must be a number from 0 to 1"},
        {"DivergenceIsInfinite", File("learning: {divergence: inf}"),
         "c:3:24: 'divergence' is 'inf'; it must be a number from 0 to 1000"},
        {"NegativeWarmUp", File("learning: {warm_up: -1}"),
         "c:3:21: 'warm_up' is '-1'; it must be a whole number from 0 to 1000000000"},
        {"HalfAFrame", File("learning: {force_after: 0.5}"),
         "c:3:25: 'force_after' is '0.5'; it must be a whole number from 0 to 1000000000"},
        {"MisspelledInAStream", Stream("source: {uri: a.avi}, learning: {warmup: 5}"),
         "c:3:46: unknown key 'warmup'; did you mean 'warm_up'?"},
        {"OtherPolicyInAStream",
         Stream("source: {uri: a.avi}, learning: {policy: never, every: 0}"),
         "c:3:54: 'policy' is 'never'; it must be one of every, mag, diff, div\n"
         "c:3:68: 'every' is '0'; it must be a whole number from 1 to 1000000"}}),
    [](const auto& tested) { return tested.param.title; });

TEST(ConfigTest, AHostPatternThatMeansNothingIsRefused) {
  const auto config =
      ParseConfig("version: 1\nclient_sources: {hosts: [10.0.0.0/24, 10.0.*]}\nstreams: []\n", "c");
  EXPECT_TRUE(absl::IsInvalidArgument(config.status()));
  EXPECT_THAT(std::string(config.status().message()),
              HasSubstr("'hosts' has '10.0.*' is no pattern of hosts; write a name such as"));
}

TEST(ConfigTest, AnEntryThatCannotBeParsedIsWrongAsAWhole) {
  const absl::Status status = ParseStreamEntry("source: {uri: test:}", "config", {}).status();
  const std::vector<FieldViolation> wrong = FieldViolationsOf(status);
  ASSERT_FALSE(wrong.empty());
  EXPECT_EQ(wrong.front().field, "config");
}

TEST(ConfigTest, UnreadableFileIsNotFound) {
  EXPECT_EQ(LoadConfig("no/such.yaml").status(),
            absl::NotFoundError("no/such.yaml cannot be read: No such file or directory"));
  EXPECT_EQ(LoadConfig(MILLRACE_SOURCE_DIR).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace millrace::service
