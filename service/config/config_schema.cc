#include "service/config/config_schema.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "pipeline/decisions/update_policy.h"
#include "pipeline/learner/device_names.h"
#include "pipeline/learner/flow_loss_options.h"
#include "pipeline/learner/flow_network_names.h"
#include "pipeline/learner/precision.h"
#include "pipeline/learner/reference_flow_names.h"
#include "pipeline/schedules/schedules.h"
#include "service/access/host_pattern.h"
#include "service/config/config_budget.h"
#include "service/config/config_checks.h"
#include "service/config/config_choices.h"
#include "service/config/config_entry.h"
#include "service/config/config_labels.h"
#include "service/config/config_listen.h"
#include "service/config/config_source.h"
#include "service/config/warm_start.h"

namespace millrace::service {
namespace {

using Value = ConfigValue;
using pipeline::FlowLossOptions;
using pipeline::UpdatePolicyOptions;
template <typename T>
using Key = ConfigKey<T>;

constexpr bool kRequired = true;
constexpr bool kOptional = false;

constexpr WholeRange kPictureSize{kLeastFlowPicture, 2048, 16};
constexpr WholeRange kLabelledPictureSize{8, 2048};
/// The default width and height with a task of labels.
constexpr int kLabelledPicture = 32;
constexpr std::size_t kLongestName = 64;

/// The contents of a whole file.
struct File {
  Config config;
};

// ---------------------------------------------------------------------------------- The values --

void ReadVersion(const Value& value, File& /*file*/) {
  static constexpr std::array<std::string_view, 1> kKnown = {"1"};
  std::string version = "1";
  value.OneOf(kKnown, version);
}

void ReadSchemes(const Value& value, ClientSources& sources) {
  static constexpr std::array<std::string_view, 6> kKnown = {"file", "rtsp", "rtsps",
                                                             "v4l2", "push", "test"};
  value.SomeOf({1, kKnown.size()}, kKnown, sources.schemes);
}

void ReadHosts(const Value& value, ClientSources& sources) {
  value.Texts({1, 64}, sources.hosts);
  for (const std::string& pattern : sources.hosts) {
    const absl::Status checked = CheckHostPattern(pattern);
    if (!checked.ok()) return value.Wrong(absl::StrCat("has ", checked.message()));
  }
}

void ReadName(const Value& value, StreamConfig& stream) {
  std::string name = stream.name;
  value.Text(name);
  const bool allowed =
      name.size() <= kLongestName && std::all_of(name.begin(), name.end(), [](unsigned char c) {
        return absl::ascii_isalnum(c) || c == '-' || c == '_';
      });
  if (allowed) {
    stream.name = std::move(name);
  } else {
    value.Wrong(absl::StrCat("is '", name, "'; it must be at most ", kLongestName,
                             " letters, digits, '-' and '_'"));
  }
}

void SetInput(int width, int height, StreamConfig& stream) {
  stream.source.width = stream.learner.width = width;
  stream.source.height = stream.learner.height = height;
}

// A task of labels has its own default size.
void ReadInput(const Value& value, StreamConfig& stream) {
  const bool labels = IsOfLabels(stream.task);
  std::vector<int> size;  // Empty for flow: the size follows the camera.
  if (stream.input_said) size = {stream.learner.width, stream.learner.height};
  if (labels && !stream.input_said) size = {kLabelledPicture, kLabelledPicture};
  // The schema of a file must allow the sizes of every task.
  value.WholeList({2, 2}, labels || value.describes() ? kLabelledPictureSize : kPictureSize, size);
  if (value.describes() || size.empty()) return;
  SetInput(size[0], size[1], stream);
  stream.input_said = true;
}

std::vector<std::string_view> Views(const std::vector<std::string>& names) {
  return {names.begin(), names.end()};
}

/// The first name in `names` for which `kind_of` returns `kind`.
template <typename Kind>
std::string NameOfKind(const std::vector<std::string>& names,
                       absl::StatusOr<Kind> (*kind_of)(std::string_view), Kind kind) {
  const auto is = [&](const std::string& name) { return *kind_of(name) == kind; };
  return *std::find_if(names.begin(), names.end(), is);
}

void ReadTask(const Value& value, StreamConfig& stream) {
  static constexpr std::array<std::string_view, 4> kKnown = {"flow", "next_frame", "classification",
                                                             "regression"};
  std::string name(kKnown[static_cast<std::size_t>(stream.task)]);
  value.OneOf(kKnown, name);
  const bool of_labels = IsOfLabels(stream.task);
  stream.task = static_cast<Task>(std::find(kKnown.begin(), kKnown.end(), name) - kKnown.begin());
  stream.flow.next_frame = stream.task == Task::kNextFrame;
  stream.labels.task = stream.task == Task::kRegression ? pipeline::LabelTask::kRegression
                                                        : pipeline::LabelTask::kClassification;
  // The file's weights for streams of one kind do not apply to streams of the other kind.
  if (IsOfLabels(stream.task) != of_labels) stream.learner.weights.clear();
}

void ReadNetwork(const Value& value, StreamConfig& stream) {
  if (IsOfLabels(stream.task)) return ReadLabelNetwork(value, stream);
  std::string name = stream.flow.network;
  value.Text(name);
  if (pipeline::FlowNetworkInputOf(name).ok()) {
    const bool is_file = pipeline::IsNetworkFile(name) && !value.describes();
    stream.flow.network = is_file ? value.InFolder(name) : std::move(name);
    return;
  }
  value.Wrong(absl::StrCat("is '", name, "'; it must be one of ",
                           absl::StrJoin(pipeline::FlowNetworkNames(), ", "),
                           ", or a file NAME.pt that torch.jit.save() wrote"));
}

void ReadWeights(const Value& value, StreamConfig& stream) {
  std::string& weights = stream.learner.weights;
  const bool none =
      !value.describes() && value.node().IsScalar() && value.node().Scalar() == kNoWeights;
  if (none) {
    weights = kNoWeights;  // "none" is not a file name.
  } else {
    value.Path(weights);
  }
}

void ReadLoss(const Value& value, StreamConfig& stream) {
  static const std::vector<std::string_view> known = Views(pipeline::FlowLossNames());
  FlowLossOptions::Kind& kind = stream.flow.loss.kind;
  std::string name = NameOfKind(pipeline::FlowLossNames(), pipeline::FlowLossKind, kind);
  value.OneOf(known, name);
  kind = *pipeline::FlowLossKind(name);
}

void ReadPrecision(const Value& value, StreamConfig& stream) {
  std::string name(pipeline::NameOf(stream.flow.precision));
  value.OneOf(pipeline::kPrecisionNames, name);
  stream.flow.precision = pipeline::PrecisionNamed(name);
}

void ReadKind(const Value& value, StreamConfig& stream) {
  static const std::vector<std::string_view> known = [] {
    std::vector<std::string_view> all = {"auto"};
    for (const std::string& name : pipeline::ScheduleNames()) all.emplace_back(name);
    return all;
  }();
  value.OneOf(known, stream.learner.schedule);
}

void ReadSwitchAt(const Value& value, StreamConfig& stream) {
  int sample = static_cast<int>(stream.learner.request.switch_at);
  value.Whole({1, 1'000'000'000}, sample);
  stream.learner.request.switch_at = sample;
}

void ReadRecompute(const Value& value, StreamConfig& stream) {
  static constexpr std::array<std::string_view, 3> kKnown = {"always", "except_last", "never"};
  pipeline::Recompute& recompute = stream.learner.request.recompute;
  std::string name(kKnown[static_cast<std::size_t>(recompute)]);
  value.OneOf(kKnown, name);
  recompute = *pipeline::RecomputeNamed(name);
}

// The server checks at its start whether these devices exist.
void ReadDevices(const Value& value, StreamConfig& stream) {
  std::vector<std::string> names = stream.learner.devices;
  value.Texts({1, kMostStages}, names);
  for (const std::string& name : names) {
    const bool alone = name == "auto" && names.size() == 1;
    if (alone || name == "cpu" || pipeline::GpuNumber(name)) continue;
    return value.Wrong(absl::StrCat("has '", name,
                                    "'; it must be auto, or of cpu, cuda and cuda:N one for all "
                                    "stages or one for each"));
  }
  stream.learner.devices = std::move(names);
}

// ---------------------------------------------------------------------------------- The tables --

// The task comes first, because it decides which values the other keys may have.
constexpr Key<StreamConfig> kModelKeys[] = {
    {"task", kOptional, ReadTask},
    {"network", kOptional, ReadNetwork},
    {"input", kOptional, ReadInput},
    {"weights", kOptional, ReadWeights},
    {"learning_rate", kOptional,
     [](const Value& v, StreamConfig& s) {
       v.Real({0, 1}, s.learner.optimizer.learning_rate);
     }},
    {"precision", kOptional, ReadPrecision},
    {"loss", kOptional, ReadLoss},
    {"smoothness", kOptional,
     [](const Value& v, StreamConfig& s) {
       v.Real({0, 100}, s.flow.loss.smoothness);
     }},
    {"occlusion", kOptional,
     [](const Value& v, StreamConfig& s) { v.Flag(s.flow.loss.occlusion); }},
    {"seed", kOptional,
     [](const Value& v, StreamConfig& s) {
       v.Whole({0, INT64_MAX}, s.learner.seed);
     }},
    {"outputs", kOptional, ReadOutputs},
    {"classes", kOptional, ReadClasses},
    {"window", kOptional, ReadLabelWindow},
    {"pictures", kOptional, ReadPictures},
    {"layers", kOptional, ReadLayers},
    {"width", kOptional, ReadLayerWidth},
};

constexpr Key<StreamConfig> kScheduleKeys[] = {
    {"kind", kOptional, ReadKind},
    {"stages", kOptional,
     [](const Value& v, StreamConfig& s) {
       v.Whole({1, kMostStages}, s.learner.stages);
     }},
    {"cuts", kOptional,
     [](const Value& v, StreamConfig& s) {
       v.WholeList({0, kMostStages - 1}, {1, 1000}, s.learner.cuts);
     }},
    {"devices", kOptional, ReadDevices},
    {"cuda_graphs", kOptional, [](const Value& v, StreamConfig& s) { v.Flag(s.learner.captures); }},
    {"frames_per_second", kOptional,
     [](const Value& v, StreamConfig& s) {
       v.Real({0.01, 1000}, s.learner.frames_per_second);
     }},
    {"replan_share", kOptional,
     [](const Value& v, StreamConfig& s) {
       v.Real({0, 100}, s.learner.replan_share);
     }},
    {"samples", kOptional,
     [](const Value& v, StreamConfig& s) {
       v.Whole({1, 1000}, s.learner.request.samples);
     }},
    {"recompute", kOptional, ReadRecompute},
    {"switch_at", kOptional, ReadSwitchAt},
    {"gate", kOptional, [](const Value& v, StreamConfig& s) { v.Flag(s.learner.gate); }},
    {"period_ms", kOptional,
     [](const Value& v, StreamConfig& s) {
       v.Real({0, 60'000}, s.learner.request.period);
     }},
    {"threads_per_stage", kOptional,
     [](const Value& v, StreamConfig& s) {
       v.Whole({1, 256}, s.learner.threads_per_stage);
     }},
};

void ReadPolicy(const Value& value, StreamConfig& stream) {
  static const std::vector<std::string_view> known = Views(pipeline::UpdatePolicyNames());
  UpdatePolicyOptions::Kind& kind = stream.flow.learning.policy.kind;
  std::string name = NameOfKind(pipeline::UpdatePolicyNames(), pipeline::UpdatePolicyKind, kind);
  value.OneOf(known, name);
  kind = *pipeline::UpdatePolicyKind(name);
}

UpdatePolicyOptions& PolicyOf(StreamConfig& stream) { return stream.flow.learning.policy; }

void ReadCompareWith(const Value& value, StreamConfig& stream) {
  static const std::vector<std::string_view> known = Views(pipeline::ReferenceFlowNames());
  value.OneOf(known, stream.scores.compare_with);
}

constexpr Key<StreamConfig> kScoreKeys[] = {
    {"window_s", kOptional,
     [](const Value& v, StreamConfig& s) {
       v.Real({1, 1e6}, s.scores.window_s);
     }},
    {"compare_with", kOptional, ReadCompareWith},
};

constexpr Key<StreamConfig> kLearningKeys[] = {
    {"policy", kOptional, ReadPolicy},
    {"every", kOptional,
     [](const Value& v, StreamConfig& s) {
       v.Whole({1, 1'000'000}, PolicyOf(s).every);
     }},
    {"moving_share", kOptional,
     [](const Value& v, StreamConfig& s) {
       v.Real({0, 1}, PolicyOf(s).moving_share);
     }},
    {"moving_pixels", kOptional,
     [](const Value& v, StreamConfig& s) {
       v.Real({0, 1000}, PolicyOf(s).moving_pixels);
     }},
    {"difference", kOptional,
     [](const Value& v, StreamConfig& s) {
       v.Real({0, 1}, PolicyOf(s).difference);
     }},
    {"divergence", kOptional,
     [](const Value& v, StreamConfig& s) {
       v.Real({0, 1000}, PolicyOf(s).divergence);
     }},
    {"warm_up", kOptional,
     [](const Value& v, StreamConfig& s) {
       int samples = static_cast<int>(PolicyOf(s).warm_up);
       v.Whole({0, 1'000'000'000}, samples);
       PolicyOf(s).warm_up = samples;
     }},
    {"force_after", kOptional,
     [](const Value& v, StreamConfig& s) {
       v.Whole({0, 1'000'000'000}, PolicyOf(s).force_after);
     }},
};

void ReadModel(const Value& value, StreamConfig& stream) {
  value.Map<StreamConfig>(kModelKeys, stream);
  RefuseKeysOfOtherTasks(value, stream.task);
}

void ReadLearning(const Value& value, StreamConfig& stream) {
  value.Map<StreamConfig>(kLearningKeys, stream);
  RefuseUnlessFlow(value, stream.task);
}

void ReadScores(const Value& value, StreamConfig& stream) {
  value.Map<StreamConfig>(kScoreKeys, stream);
  RefuseUnlessFlow(value, stream.task);
}

void ReadSchedule(const Value& value, StreamConfig& stream) {
  value.Map<StreamConfig>(kScheduleKeys, stream);
  RefuseKeysOfOtherTasks(value, stream.task);
}

constexpr Key<StreamConfig> kCheckpointKeys[] = {
    {"folder", kOptional,
     [](const Value& v, StreamConfig& s) { v.Path(s.learner.checkpoints.folder); }},
    {"every", kOptional,
     [](const Value& v, StreamConfig& s) {
       v.Whole({1, 1'000'000'000}, s.learner.checkpoints.every);
     }},
    {"keep", kOptional,
     [](const Value& v, StreamConfig& s) {
       v.Whole({1, 1000}, s.learner.checkpoints.keep);
     }},
};

void ReadCheckpoints(const Value& value, StreamConfig& stream) {
  value.Map<StreamConfig>(kCheckpointKeys, stream);
}

constexpr Key<StreamConfig> kStreamKeys[] = {
    {"name", kRequired, ReadName},
    {"source", kRequired, ReadSource},
    {"model", kOptional, ReadModel},
    {"schedule", kOptional, ReadSchedule},
    {"learning", kOptional, ReadLearning},
    {"scores", kOptional, ReadScores},
    {"checkpoints", kOptional, ReadCheckpoints},
};

void ReadStreams(const Value& value, File& file);
void ReadClientSources(const Value& value, File& file);

// The order matters: the defaults for all streams come before `streams`.
constexpr Key<File> kFileKeys[] = {
    {"version", kRequired, ReadVersion},
    {"listen", kOptional, [](const Value& v, File& f) { ReadListen(v, f.config.listen); }},
    {"model", kOptional, [](const Value& v, File& f) { ReadModel(v, f.config.defaults); }},
    {"schedule", kOptional, [](const Value& v, File& f) { ReadSchedule(v, f.config.defaults); }},
    {"learning", kOptional, [](const Value& v, File& f) { ReadLearning(v, f.config.defaults); }},
    {"scores", kOptional, [](const Value& v, File& f) { ReadScores(v, f.config.defaults); }},
    {"checkpoints", kOptional,
     [](const Value& v, File& f) { ReadCheckpoints(v, f.config.defaults); }},
    {"client_sources", kOptional, ReadClientSources},
    {"budget", kOptional, [](const Value& v, File& f) { ReadBudget(v, f.config.budget); }},
    {"streams", kRequired, ReadStreams},
};

void ReadStreams(const Value& value, File& file) {
  std::set<std::string> names;
  value.List({0, kMostStreams}, [&](const Value& entry) {
    StreamConfig stream = file.config.defaults;
    stream.of_file = true;
    ReadStream(entry, stream);
    if (!stream.name.empty() && !names.insert(stream.name).second) {
      entry.Find("name")->Wrong(
          absl::StrCat("is '", stream.name, "', as that of a stream before; names must differ"));
    }
    file.config.streams.push_back(std::move(stream));
  });
}

constexpr Key<ClientSources> kClientSourceKeys[] = {
    {"schemes", kOptional, ReadSchemes},
    {"hosts", kOptional, ReadHosts},
    {"files", kOptional, [](const Value& v, ClientSources& c) { v.Flag(c.files); }},
};

void ReadClientSources(const Value& value, File& file) {
  value.Map<ClientSources>(kClientSourceKeys, file.config.client_sources);
}

void ReadStreamKeys(const Value& entry, StreamConfig& stream) {
  entry.Map<StreamConfig>(kStreamKeys, stream);
}

/// The effective settings of `stream`, which was just read. Settings for flow alone do not apply to
/// a task of labels.
ConfigShape::Json DescribeStream(StreamConfig stream) {
  if (IsOfLabels(stream.task)) {
  }
  ConfigShape shape;
  ConfigErrors none;
  ReadStreamKeys(Value(shape, none), stream);
  return std::move(shape.now);
}

}  // namespace

void ReadConfig(const ConfigValue& root, Config& config) {
  File file = {.config = std::move(config)};
  if (!root.describes()) LeaveOpen(file.config.defaults);
  root.Map<File>(kFileKeys, file);
  CheckListen(root, file.config.listen);
  config = std::move(file.config);
}

void ReadStream(const ConfigValue& entry, StreamConfig& stream) {
  ReadStreamKeys(entry, stream);
  if (entry.describes()) return;
  if (IsOfLabels(stream.task)) {  // The defaults of these sections are for flow alone.
    stream.flow.learning = {};
    stream.scores = {};
  }
  ChooseKind(stream);
  stream.effective = ConfigShape::Dump(DescribeStream(stream));
  ChooseStages(stream);
  CheckSchedule(entry, stream);
  if (IsOfLabels(stream.task)) {
    if (!stream.input_said) SetInput(kLabelledPicture, kLabelledPicture, stream);
    CheckLabels(entry, stream);
    if (stream.labels.outputs == 0) {
      stream.labels.outputs = static_cast<int>(stream.labels.classes.size());
    }
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
