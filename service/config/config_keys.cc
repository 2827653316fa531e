#include "service/config/config_keys.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "service/access/host_pattern.h"
#include "service/config/config_choices.h"
#include "service/config/config_describer.h"
#include "service/config/config_entry.h"
#include "service/config/config_reader.h"

namespace millrace::service {
namespace {

using Value = ConfigValue;
using Json = ConfigJson;
using Target = ConfigTarget;
using Names = std::vector<std::string>;

constexpr std::size_t kMaxNameLength = 64;

// ---------------------------------------------------------------------------------- The values --

const Names& Versions() {
  static const Names names = {"1"};
  return names;
}

const Names& Schemes() {
  static const Names names = {"file", "rtsp", "rtsps", "v4l2", "push", "test"};
  return names;
}

void SetHosts(const Value& at, const Json& value, const Target& target) {
  Names& hosts = target.config->client_sources.hosts;
  hosts = value.get<Names>();
  for (const std::string& pattern : hosts) {
    const absl::Status checked = CheckHostPattern(pattern);
    if (!checked.ok()) return at.Wrong(absl::StrCat("has ", checked.message()));
  }
}

void SetName(const Value& at, const Json& value, const Target& target) {
  const std::string name = value;
  const bool allowed =
      name.size() <= kMaxNameLength && std::all_of(name.begin(), name.end(), [](unsigned char c) {
        return absl::ascii_isalnum(c) || c == '-' || c == '_';
      });
  if (allowed) {
    target.stream->name = name;
  } else {
    at.Wrong(absl::StrCat("is '", name, "'; it must be at most ", kMaxNameLength,
                          " letters, digits, '-' and '_'"));
  }
}

void ReadStreams(const Value& at, const Json& /*value*/, const Target& target) {
  Config& config = *target.config;
  std::set<std::string> names;
  for (const Value& entry : at.Entries()) {
    StreamConfig stream = config.defaults;
    stream.of_file = true;
    ReadStream(entry, stream);
    if (!stream.learner.rank_of_stage.empty() && config.ranks.listen.empty()) {
      entry.WrongAt("schedule", "stages_on",
                    "needs the section `ranks` in this file, with `listen` and `secret_file`");
    }
    const std::optional<Value> name = entry.Find("name");
    if (name && !stream.name.empty() && !names.insert(stream.name).second) {
      name->Wrong(
          absl::StrCat("is '", stream.name, "', as that of a stream before; names must differ"));
    }
    config.streams.push_back(std::move(stream));
  }
}

// ---------------------------------------------------------------------------------- The tables --

constexpr ConfigKey kClientSourceKeys[] = {
    {"schemes", TextsType{{1, 6}, Schemes},
     Member([](auto& t) -> auto& { return t.config->client_sources.schemes; }),
     "Of file, rtsp, rtsps, v4l2, push and test. A plain path counts as file, also that of a "
     "folder."},
    {"hosts",
     TextsType{{1, 64}},
     {[](const Target& t) -> Json { return t.config->client_sources.hosts; }, SetHosts},
     "Patterns for a camera's host: a name, with * for any part of it (*.example.org), addresses "
     "(10.0.0.*), a network (10.0.0.0/24, fd00::/8), or * for every host."},
    {"files", FlagType{}, Member([](auto& t) -> auto& { return t.config->client_sources.files; }),
     "Whether clients may name files of this machine: weights, folders of checkpoints, passwords."},
};

constexpr ConfigKey kBudgetKeys[] = {
    {"cores", RealType{0.1, 4096}, Member([](auto& t) -> auto& { return t.config->budget.cores; }),
     "Cores of the CPU."},
    {"gpu", RealType{0.01, 100}, Member([](auto& t) -> auto& { return t.config->budget.gpu; }),
     "The share of each GPU's time: 1 is all of it."},
    {"memory_gb", RealType{0.01, 1e6},
     Member([](auto& t) -> auto& { return t.config->budget.memory_gb; }),
     "This machine's memory, in GB (10^9 bytes). The server estimates a stream's memory before it "
     "makes the stream. Left out: the memory of the machine or container, less a tenth, at least "
     "half a GB. From 0.01 to 1000000."},
};

constexpr ConfigKey kRanksKeys[] = {
    {"listen", TextType{}, Member([](auto& t) -> auto& { return t.config->ranks.listen; }),
     "HOST:PORT of this host, as the others reach it. Only this address listens. Port 0 takes a "
     "free port. Under a launcher such as srun, ':PORT' takes the host that leads."},
    {"secret_file", PathType{},
     Member([](auto& t) -> auto& { return t.config->ranks.secret_file; }),
     "The file with the secret that all hosts share: openssl rand -hex 32."},
    {"lost_after_s", RealType{1, 10},
     Member([](auto& t) -> auto& { return t.config->ranks.lost_after_s; }),
     "A host without a sign of life for this number of seconds is lost. From 1 to 10."},
};

void CheckRanksSection(const Value& root, const RanksConfig& ranks) {
  if (!ranks.listen.empty() && ranks.secret_file.empty()) {
    root.WrongAt("ranks", "listen", "needs `secret_file` beside it");
  }
  if (ranks.listen.empty() && !ranks.secret_file.empty()) {
    root.WrongAt("ranks", "secret_file", "needs `listen` beside it");
  }
}

// These sections of the file are the defaults of those of its streams.
constexpr ConfigKey kModel = {"model",
                              SectionType{ModelKeys},
                              {},
                              "The network, for every stream that has no `model` of its own. A "
                              "stream's own keys come first."};
constexpr ConfigKey kSchedule = {"schedule",
                                 SectionType{ScheduleKeys},
                                 {},
                                 "How the network is cut into stages that work at the same time, "
                                 "for every stream that has no `schedule` of its own."};
constexpr ConfigKey kOptimizer = {"optimizer",
                                  SectionType{OptimizerKeys},
                                  {},
                                  "How an update follows from the gradients, for every stream that "
                                  "has no `optimizer` of its own. "
                                  "model.learning_rate scales each update. A stream that learns "
                                  "can change all but the kind, and a momentum of 0."};
constexpr ConfigKey kLearning = {
    "learning",
    SectionType{LearningKeys},
    {},
    "The frames from which the model learns, for every stream that has no `learning` of its own. "
    "The model never learns from a repeated picture, across a cut, or from an impossible flow.",
    ForTasks::kFlow};
constexpr ConfigKey kScores = {"scores",
                               SectionType{ScoreKeys},
                               {},
                               "The scores of predictions, each before the model learns from its "
                               "frame, for every stream that has no `scores` of its own.",
                               ForTasks::kFlow};
constexpr ConfigKey kCheckpoints = {
    "checkpoints",
    SectionType{CheckpointKeys},
    {},
    "The server keeps the learned weights on disk, and resumes from them after any end, for every "
    "stream that has no `checkpoints` of its own."};

constexpr ConfigKey kStreamKeys[] = {
    {"name",
     TextType{},
     {[](const Target& t) -> Json { return t.stream->name; }, SetName},
     "The stream's name in the API, in the metrics and on the page: letters, digits, '-' and '_'.",
     ForTasks::kAll,
     kRequired},
    {"source",
     SectionType{SourceKeys},
     {},
     "The camera, video or folder that the stream learns from.",
     ForTasks::kAll,
     kRequired},
    kModel,
    kSchedule,
    kOptimizer,
    kLearning,
    kScores,
    kCheckpoints,
};

// The order matters: the defaults for all streams come before `streams`.
constexpr ConfigKey kFileKeys[] = {
    {"version",
     ChoiceType{Versions},
     {[](const Target& /*target*/) -> Json { return Versions().front(); },
      [](const Value& /*at*/, const Json& /*value*/, const Target& /*target*/) {}},
     "The version of this file's format.",
     ForTasks::kAll,
     kRequired},
    {"listen",
     SectionType{ListenKeys},
     {},
     "The addresses of the server. Port 0 takes a free port."},
    kModel,
    kSchedule,
    kOptimizer,
    kLearning,
    kScores,
    kCheckpoints,
    {"client_sources",
     SectionType{[]() -> ConfigKeys { return kClientSourceKeys; }},
     {},
     "The cameras that clients may add over gRPC (docs/streams.md). Such a client chooses the "
     "addresses that this machine connects to. The streams of this file may have any source."},
    {"budget",
     SectionType{[]() -> ConfigKeys { return kBudgetKeys; }, /*may_be_empty=*/true},
     {},
     "Limits for all streams together (docs/streams.md): of the devices, by the cost of the layers "
     "at the frame rates, and of the memory. The server refuses a client's stream that does not "
     "fit. Left out: all cores that this process may use and the time of each GPU. In this case "
     "the streams of this file may exceed the limits, and the log says so."},
    {"ranks",
     SectionType{[]() -> ConfigKeys { return kRanksKeys; }, /*may_be_empty=*/true},
     {},
     "Other hosts that run stages of a network, by schedule.stages_on (docs/many-hosts.md). On "
     "each "
     "of them, run millrace join. Left out: this process runs all stages."},
    {"streams",
     SectionsType{{0, kMaxStreams}, StreamKeys},
     {nullptr, ReadStreams},
     "The cameras, up to 64. Each has its own model, which learns only from this camera.",
     ForTasks::kAll,
     kRequired},
};

}  // namespace

ConfigKeys FileKeys() { return kFileKeys; }

ConfigKeys StreamKeys() { return kStreamKeys; }

void ReadConfig(const ConfigValue& root, Config& config) {
  LeaveOpen(config.defaults);
  ReadSection(root, FileKeys(), {.config = &config, .stream = &config.defaults});
  CheckListen(root, config.listen);
  CheckRanksSection(root, config.ranks);
  CheckOptimizer(root, config.defaults);
}

void ReadStream(const ConfigValue& entry, StreamConfig& stream) {
  const Target target = {.config = nullptr, .stream = &stream};
  ReadSection(entry, StreamKeys(), target);
  if (IsOfLabels(stream.task)) {  // The defaults of these sections are for flow alone.
    stream.flow.learning = {};
    stream.scores = {};
  }
  ChooseKind(stream);
  ChooseSmoothness(stream);
  CheckOptimizer(entry, stream);
  CheckClipUpdate(entry, stream);
  stream.effective = Dump(ValuesOf(StreamKeys(), target));
  ChooseStages(stream);
  CheckSchedule(entry, stream);
  if (IsOfLabels(stream.task)) {
    CompleteLabels(entry, stream);
  } else {
    CheckModel(entry, stream);
  }
  CheckSource(entry, stream);
  std::string& folder = stream.learner.checkpoints.folder;
  if (!folder.empty()) absl::StrAppend(&folder, "/", stream.name);
  ChooseWeights(stream);
  stream.entry = EntryJson(entry.node());
}

}  // namespace millrace::service
