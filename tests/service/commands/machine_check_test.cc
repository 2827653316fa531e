// The check reports all missing parts of the machine at once, each with its place in the
// configuration.
#include "service/commands/machine_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "service/config/config_file.h"

namespace millrace::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

/// A machine that has all that it is asked for.
Machine Willing() {
  return {.security = [](const GrpcSecurity&) { return std::vector<KeyProblem>(); },
          .bind = [](const std::string&, int) { return 0; },
          .source = [](const ingest::SourceOptions&) { return absl::OkStatus(); },
          .password = [](const ingest::Login&) { return absl::OkStatus(); },
          .trusted = [](const ingest::Tls&) { return absl::OkStatus(); },
          .folder = [](const std::string&) { return absl::OkStatus(); },
          .devices = [](const std::vector<std::string>&) { return absl::OkStatus(); },
          .learner = [](const StreamConfig&) { return std::vector<pipeline::LearnerProblem>(); },
          .memory = [](const StreamConfig&) { return 0.0; },
          .reference = [](const StreamConfig&) { return absl::OkStatus(); }};
}

/// A machine whose learner fails in `part`.
Machine FailingIn(pipeline::LearnerPart part) {
  Machine machine = Willing();
  machine.learner = [part](const StreamConfig&) {
    return std::vector<pipeline::LearnerProblem>{{part, absl::NotFoundError("it fails")}};
  };
  return machine;
}

ConfigFile Parsed(const std::string& yaml) { return ParseConfigFile(yaml, "my.yaml"); }

std::string Problems(const std::string& yaml, const Machine& machine) {
  return std::string(CheckMachine(Parsed(yaml), machine).message());
}

std::vector<std::string> Lines(const std::string& text) { return absl::StrSplit(text, '\n'); }

constexpr char kFile[] = R"(version: 1
listen: {address: 10.1.1.1, allow_plain_text: true, grpc_port: 50, http_port: 0}
model: {network: levels, weights: start.safetensors}
streams:
- name: door
  source: {uri: 'rtsps://camera/1', user: me, password_env: DOOR, tls_ca_file: ca.pem}
  schedule: {kind: partime, stages: 3, cuts: [1, 2], devices: cuda}
  checkpoints: {folder: kept}
- name: gate
  source:
    uri: gate.avi
  model: {weights: gate.safetensors}
)";

TEST(MachineCheckTest, AMachineThatHasAllIsRight) {
  EXPECT_EQ(CheckMachine(Parsed(kFile), Willing()), absl::OkStatus());
  EXPECT_EQ(PortsInUse(Parsed(kFile), Willing()), absl::OkStatus());
}

TEST(MachineCheckTest, SaysAllAtOnceInTheOrderOfTheFile) {
  Machine machine = Willing();
  machine.devices = [](const std::vector<std::string>&) { return absl::NotFoundError("it fails"); };
  machine.security = [](const GrpcSecurity&) {
    return std::vector<KeyProblem>{{"listen.tokens_file", "is open to everybody"}};
  };
  machine.bind = [](const std::string&, int) { return EADDRNOTAVAIL; };
  machine.source = [](const ingest::SourceOptions& source) {
    return source.uri == "gate.avi" ? absl::NotFoundError("no file gate.avi") : absl::OkStatus();
  };
  machine.password = [](const ingest::Login& login) {
    return login.password_variable == "DOOR"
               ? absl::FailedPreconditionError("DOOR is not set; see source.password_env")
               : absl::OkStatus();
  };
  machine.trusted = [](const ingest::Tls&) { return absl::NotFoundError("no ca.pem"); };
  machine.folder = [](const std::string& folder) {
    return absl::InvalidArgumentError(absl::StrCat("cannot make ", folder));
  };
  EXPECT_EQ(Problems(kFile, machine),
            "my.yaml:2:9: listen.tokens_file: is open to everybody\n"
            "my.yaml:2:19: listen.address: no network interface of this machine has 10.1.1.1; "
            "`ip address` lists the addresses\n"
            "my.yaml:6:61: source.password_env: DOOR is not set\n"
            "my.yaml:6:80: source.tls_ca_file: no ca.pem\n"
            "my.yaml:7:63: schedule.devices: it fails\n"
            "my.yaml:8:25: checkpoints.folder: cannot make kept/door\n"
            "my.yaml:9:3: schedule.devices of stream 'gate': it fails\n"
            "my.yaml:11:10: source.uri: no file gate.avi");
}

/// A machine that has nothing of what it is asked for.
Machine Unwilling() {
  absl::Status no = absl::NotFoundError("no");
  return {.security =
              [](const GrpcSecurity&) {
                return std::vector<KeyProblem>{{"listen.tls.key", "no"}};
              },
          .bind = [](const std::string&, int port) { return port == 0 ? 0 : EACCES; },
          .source = [no](const ingest::SourceOptions&) { return no; },
          .password = [no](const ingest::Login&) { return no; },
          .trusted = [no](const ingest::Tls&) { return no; },
          .folder = [no](const std::string&) { return no; },
          .devices = [no](const std::vector<std::string>&) { return no; },
          .learner =
              [no](const StreamConfig&) {
                return std::vector<pipeline::LearnerProblem>{{pipeline::LearnerPart::kNetwork, no},
                                                             {pipeline::LearnerPart::kCuts, no}};
              },
          .memory = [](const StreamConfig&) { return 1e6; },
          .reference = [no](const StreamConfig&) { return no; }};
}

TEST(MachineCheckTest, FileAndMachineProblemsComeInFileOrder) {
  Machine machine = Unwilling();
  machine.bind = Willing().bind;
  const std::string said = Problems(R"(version: 1
listen: {tls: {certificate: a, key: b}}
streams:
- name: door
  source: {uri: 'rtsp://me@/1', password_env: DOOR}
  model: {network: flow}
  schedule: {kind: partime, stages: many, devices: cuda}
  scores: {compare_with: dis}
  checkpoints: {folder: kept, every: 0}
)",
                                    machine);
  EXPECT_THAT(Lines(said), ElementsAre(StartsWith("my.yaml:2:37: listen.tls.key: no"),
                                       StartsWith("my.yaml:5:17: 'uri' "),
                                       StartsWith("my.yaml:5:47: source.password_env: no"),
                                       StartsWith("my.yaml:6:20: model.network: no"),
                                       StartsWith("my.yaml:7:37: 'stages' is 'many'"),
                                       StartsWith("my.yaml:7:52: schedule.devices: no"),
                                       StartsWith("my.yaml:8:26: scores.compare_with: no"),
                                       StartsWith("my.yaml:9:25: checkpoints.folder: no"),
                                       StartsWith("my.yaml:9:38: 'every' is '0'")));
}

TEST(MachineCheckTest, NothingIsJudgedByTheDefaultOfAKeyThatCannotBeRead) {
  const auto problems = [](const std::string& key) {
    return Problems(
        "version: 1\nlisten: {grpc_port: 0, http_port: 0, metrics_port: 0}\n"
        "streams:\n- {name: door, source: {uri: 'test:ball'}, " +
            key + "}\n",
        Unwilling());
  };
  for (const auto& [entry, wrong, unsaid] :
       std::initializer_list<std::tuple<const char*, const char*, const char*>>{
           {"schedule: {stages: 3, cut: [1, 2]}", "unknown key 'cut'", "schedule.cuts"},
           {"schedule: {devices: gpu}", "'devices' has 'gpu'", "schedule.devices"},
           {"model: {network: resnet}", "'network' is 'resnet'", "model.network"},
           {"model: {task: classification}", "'task' needs 'outputs'", "model.network"},
           {"checkpoints: {folder: [a]}", "'folder'", "checkpoints.folder"},
           {"scores: {compare_with: farneback2}", "is 'farneback2'", "scores.compare_with"}}) {
    const std::string said = problems(entry);
    EXPECT_THAT(said, HasSubstr(wrong));
    EXPECT_THAT(said, Not(HasSubstr(unsaid)));
  }
}

TEST(MachineCheckTest, AKeyThatCannotBeReadHidesNothingThatItPlaysNoPartIn) {
  const std::string said =
      Problems(R"(version: 1
listen: {tls: {certificate: a, kee: b}, grpc_port: 0, http_port: 0, metrics_port: 0}
streams:
- name: door
  source: {uri: 'test:ball'}
  model: {network: flow, learning_rate: fast}
  schedule: {kind: partime, stages: 2, cuts: [1], replan_share: much}
)",
               [] {
                 Machine machine = Unwilling();
                 machine.security = [](const GrpcSecurity&) {
                   return std::vector<KeyProblem>{{"listen.tls.key", "no"},
                                                  {"listen.tokens_file", "is open to everybody"}};
                 };
                 return machine;
               }());
  EXPECT_THAT(said, Not(HasSubstr("listen.tls.key: no")));
  EXPECT_THAT(said, HasSubstr("listen.tokens_file: is open to everybody"));
  EXPECT_THAT(said, HasSubstr("'learning_rate' is 'fast'"));
  EXPECT_THAT(said, HasSubstr("model.network: no"));
  EXPECT_THAT(said, HasSubstr("'replan_share' is 'much'"));
  EXPECT_THAT(said, HasSubstr("schedule.cuts: no"));
}

TEST(MachineCheckTest, AStreamOfLabelsNeedsNoGpuThatTheFileNamesForAll) {
  Machine machine = Willing();
  machine.devices = [](const std::vector<std::string>&) { return absl::NotFoundError("no GPU"); };
  EXPECT_EQ(Problems("version: 1\nschedule: {devices: cuda}\nstreams:\n"
                     "- name: digits\n  source: {uri: 'push:'}\n"
                     "  model: {task: classification, outputs: 2}\n",
                     machine),
            "");
}

TEST(MachineCheckTest, BrokenYamlHasOneProblem) {
  EXPECT_THAT(Lines(Problems("streams: [", Unwilling())), ElementsAre(StartsWith("my.yaml:1:")));
  EXPECT_EQ(Problems("", Unwilling()), "my.yaml:1:1: the file is empty; begin with 'version: 1'");
}

TEST(MachineCheckTest, WhatStreamsShareIsSaidOnceWhereTheFileSaysIt) {
  EXPECT_EQ(Problems(kFile, FailingIn(pipeline::LearnerPart::kNetwork)),
            "my.yaml:3:18: model.network: it fails");
  EXPECT_EQ(Problems(kFile, FailingIn(pipeline::LearnerPart::kWeights)),
            "my.yaml:3:35: model.weights: it fails\n"
            "my.yaml:12:20: model.weights: it fails");
}

TEST(MachineCheckTest, EachPartOfALearnerHasItsKey) {
  using enum pipeline::LearnerPart;
  for (const auto& [part, place] :
       std::initializer_list<std::pair<pipeline::LearnerPart, const char*>>{
           {kStages, "7:37: schedule.stages: "},
           {kCuts, "7:46: schedule.cuts: "},
           {kSchedule, "7:20: schedule.kind: "},
           {kCheckpoints, "8:25: checkpoints.folder: "}}) {
    EXPECT_THAT(Problems(kFile, FailingIn(part)), HasSubstr(place));
  }
}

TEST(MachineCheckTest, AReferenceThatIsMissingIsNamed) {
  Machine machine = Willing();
  machine.reference = [](const StreamConfig& stream) {
    return stream.scores.compare_with == "dis" ? absl::NotFoundError("no OpenCV")
                                               : absl::OkStatus();
  };
  EXPECT_EQ(Problems("version: 1\nscores: {compare_with: dis}\n"
                     "streams: [{name: a, source: {uri: 'test:'}}]\n",
                     machine),
            "my.yaml:2:24: scores.compare_with: no OpenCV");
}

constexpr char kThree[] = R"(
streams:
- {name: door, source: {uri: 'test:'}}
- {name: gate, source: {uri: 'test:'}}
- {name: yard, source: {uri: 'test:'}}
)";

TEST(MachineCheckTest, StreamsThatDoNotFitTheBudgetOfMemoryAreRefused) {
  Machine machine = Willing();
  machine.memory = [](const StreamConfig& stream) { return stream.name == "gate" ? 9e8 : 4e8; };
  EXPECT_EQ(Problems(absl::StrCat("version: 1\nbudget: {memory_gb: 1}", kThree), machine),
            "my.yaml:2:21: budget.memory_gb: stream 'gate': about 900 MB of memory are needed, "
            "and of 1.0 GB there are 600 MB left: 'door' takes 400 MB; lower the size of "
            "model.input or the number schedule.stages. Or take a smaller network, delete "
            "another stream, or raise budget.memory_gb");
  EXPECT_EQ(Problems(absl::StrCat("version: 1\nbudget: {memory_gb: 1.7}", kThree), machine), "");
  machine.memory = [](const StreamConfig&) { return 1e15; };
  EXPECT_EQ(Problems(absl::StrCat("version: 1", kThree), machine), "") << "which is warned of";
  EXPECT_THAT(Problems(absl::StrCat("version: 1\nbudget: {cores: 2}", kThree), machine),
              HasSubstr("my.yaml:2:9: budget.memory_gb: stream 'yard': about 1000000.0 GB"));
}

TEST(MachineCheckTest, EachPortThatIsInUseHasALineWithWhatToDo) {
  Machine machine = Willing();
  std::set<int> asked;
  machine.bind = [&asked](const std::string&, int port) {
    asked.insert(port);
    return port == 0 ? 0 : EADDRINUSE;
  };
  const absl::Status ports = PortsInUse(Parsed(kFile), machine);
  EXPECT_EQ(ports.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ports.message(),
            "my.yaml:2:9: listen.metrics_port: 10.1.1.1:9464 is in use, maybe by another millrace: "
            "`ss -ltnp 'sport = :9464'` names the program; stop it, or choose another port (0: any "
            "free one)\n"
            "my.yaml:2:64: listen.grpc_port: 10.1.1.1:50 is in use, maybe by another millrace: "
            "`ss -ltnp 'sport = :50'` names the program; stop it, or choose another port (0: any "
            "free one)");
  EXPECT_EQ(asked, (std::set<int>{50, 9464})) << "0 takes a free one";
  EXPECT_EQ(CheckMachine(Parsed(kFile), machine), absl::OkStatus()) << "no fault of the file";
}

TEST(MachineCheckTest, APortThatTakesAPrivilegeIsAFaultOfTheFile) {
  Machine machine = Willing();
  machine.bind = [](const std::string&, int port) { return port == 50 ? EACCES : 0; };
  EXPECT_THAT(Problems(kFile, machine), HasSubstr("my.yaml:2:64: listen.grpc_port: 10.1.1.1:50 "));
  EXPECT_THAT(Problems(kFile, machine), HasSubstr("below 1024"));
  EXPECT_EQ(PortsInUse(Parsed(kFile), machine), absl::OkStatus());
}

TEST(MachineCheckTest, PlacesAreOfWhatTheFileDoesNotSay) {
  Machine machine = Willing();
  machine.bind = [](const std::string&, int) { return EADDRINUSE; };
  const ConfigFile file = Parsed("version: 1\nstreams: []\n");
  EXPECT_THAT(std::string(PortsInUse(file, machine).message()),
              HasSubstr("my.yaml:1:1: listen.grpc_port: 127.0.0.1:50051 is in use"));
}

}  // namespace
}  // namespace millrace::service
