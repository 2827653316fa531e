// The section `model`.
#include <algorithm>
#include <array>
#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "pipeline/learner/flow_loss_options.h"
#include "pipeline/learner/flow_network_names.h"
#include "pipeline/learner/precision.h"
#include "service/config/config_keys.h"
#include "service/config/warm_start.h"

namespace millrace::service {
namespace {

using Value = ConfigValue;
using Json = ConfigJson;
using Target = ConfigTarget;
using Names = std::vector<std::string>;

/// The smallest side of a picture for optical flow, in pixels.
constexpr int kMinFlowPicture = 64;
constexpr WholesType kFlowInput = {{2, 2}, {kMinFlowPicture, 2048, 16}};
constexpr WholesType kLabelInput = {{2, 2}, {8, 2048}};

// In the order of Task.
const Names& Tasks() {
  static const Names names = {"flow", "next_frame", "classification", "regression"};
  return names;
}

const Names& Precisions() {
  static const Names names(pipeline::kPrecisionNames.begin(), pipeline::kPrecisionNames.end());
  return names;
}

const Names& PictureForms() {
  static const Names names = {"grey", "colour"};
  return names;
}

// ---------------------------------------------------------------------------------- The values --

Json TaskOf(const Target& target) {
  return Tasks().at(static_cast<std::size_t>(target.stream->task));
}

void SetTask(const Value& /*at*/, const Json& value, const Target& target) {
  StreamConfig& stream = *target.stream;
  const bool of_labels = IsOfLabels(stream.task);
  stream.task = static_cast<Task>(IndexOf(Tasks(), value));
  stream.flow.next_frame = stream.task == Task::kNextFrame;
  stream.labels.task = stream.task == Task::kRegression ? pipeline::LabelTask::kRegression
                                                        : pipeline::LabelTask::kClassification;
  // The file's weights for streams of one kind do not apply to streams of the other kind.
  if (IsOfLabels(stream.task) != of_labels) stream.learner.weights.clear();
}

Json NetworkOf(const Target& target) {
  if (!IsOfLabels(target.stream->task)) return target.stream->flow.network;
  const pipeline::LabelTaskOptions& labels = target.stream->labels;
  return labels.model.empty() ? labels.network : labels.model;
}

void SetLabelNetwork(const Value& at, const std::string& name, pipeline::LabelTaskOptions& labels) {
  if (absl::EndsWith(name, ".pt")) {
    labels.model = at.InFolder(name);
  } else if (name == "mlp" || name == "convolutional") {
    labels.model.clear();
    labels.network = name;
  } else {
    at.Wrong(absl::StrCat("is '", name,
                          "'; with this task it must be mlp, convolutional, or a file NAME.pt "
                          "that torch.jit.save() wrote"));
  }
}

void SetNetwork(const Value& at, const Json& value, const Target& target) {
  StreamConfig& stream = *target.stream;
  const std::string name = value;
  if (IsOfLabels(stream.task)) return SetLabelNetwork(at, name, stream.labels);
  if (pipeline::FlowNetworkInputOf(name).ok()) {
    stream.flow.network = pipeline::IsNetworkFile(name) ? at.InFolder(name) : name;
    return;
  }
  at.Wrong(absl::StrCat("is '", name, "'; it must be one of ",
                        absl::StrJoin(pipeline::FlowNetworkNames(), ", "),
                        ", or a file NAME.pt that torch.jit.save() wrote"));
}

// For flow, an input that is not set follows the camera. A task of labels has its own default size.
Json InputOf(const Target& target) {
  const StreamConfig& stream = *target.stream;
  if (stream.input_is_set) return Json::array({stream.learner.width, stream.learner.height});
  if (!IsOfLabels(stream.task)) return nullptr;
  return Json::array({kLabelPicture, kLabelPicture});
}

void SetInput(const Value& /*at*/, const Json& value, const Target& target) {
  StreamConfig& stream = *target.stream;
  stream.source.width = stream.learner.width = value[0];
  stream.source.height = stream.learner.height = value[1];
  stream.input_is_set = true;
}

// The schema of a file must allow the sizes of every task.
ConfigType InputOfTask(const StreamConfig& stream) {
  return IsOfLabels(stream.task) ? kLabelInput : kFlowInput;
}

void SetWeights(const Value& at, const Json& value, const Target& target) {
  const std::string weights = value;
  // "none" is not a file name.
  target.stream->learner.weights = weights == kNoWeights ? weights : at.InFolder(weights);
}

// ----------------------------------------------------------------------------------- The table --

pipeline::FlowLossOptions& Loss(const Target& target) { return target.stream->flow.loss; }

// The task comes first, because it decides which values the other keys may have.
constexpr ConfigKey kModelKeys[] = {
    {"task",
     ChoiceType{Tasks},
     {TaskOf, SetTask},
     "What the model learns. flow: the motion from the previous frame to each frame. next_frame: "
     "the next frame, from moving parts, at twice the cost (docs/learning.md). Both need no "
     "labels. classification, regression: classes or values of each frame, from labels that "
     "clients send (docs/learning-labels.md). These two ignore loss, smoothness, occlusion, "
     "precision, devices, cuda_graphs, learning and scores if this file sets them for all "
     "streams. They write checkpoints. They start from weights only if the same section sets task "
     "and weights."},
    {"network",
     TextType{},
     {NetworkOf, SetNetwork},
     "The network. refine: corrects DIS, a classical method, which it runs first on the CPU. flow: "
     "coarse to fine, with built-in matching and no classical method. levels: as flow, for the "
     "schedule local. ndconv, resunet, flownets: the networks of Marullo, Tiezzi "
     "and Betti (CoLLAs 2022), for comparisons; they are large and should run on a GPU. Or your "
     "own network, saved by torch.jit: NAME.pt (docs/own-network.md). classification and "
     "regression: mlp, convolutional, or NAME.pt whose output is one row of `outputs` numbers for "
     "each picture."},
    {"input",
     kLabelInput,
     {InputOf, SetInput},
     "Width and height of the network's pictures, in pixels: multiples of 16 (resunet: 32, "
     "flownets: 64), 64 to 2048. classification and regression: 8 to 2048 each, by default 32. "
     "Cost grows with the area. Left out: about this area, in the camera's shape. The server crops "
     "camera pictures of another shape.",
     ForTasks::kAll,
     /*required=*/false,
     InputOfTask},
    {"weights",
     TextType{},
     {[](const Target& t) -> Json { return t.stream->learner.weights; }, SetWeights},
     "The starting weights, made by `millrace pretrain`. none: random weights; with them, networks "
     "other than refine need a thousand frames or more to see any motion. Left out: for refine and "
     "flow the file NETWORK-start.safetensors, which is installed beside the program; else none."},
    {"learning_rate", RealType{0, 1},
     Member([](auto& t) -> auto& { return t.stream->learner.optimizer.learning_rate; }),
     "The size of each update: 0 to 1. With 0 the model predicts and never learns."},
    {"precision", ChoiceType{Precisions},
     Enumeration<Precisions>([](auto& t) -> auto& { return t.stream->flow.precision; }),
     "The precision of convolutions on a GPU: float32, or bfloat16, which takes less time and "
     "keeps fewer digits. The CPU always uses float32.",
     ForTasks::kFlow},
    {"loss", ChoiceType{pipeline::FlowLossNames},
     Enumeration<pipeline::FlowLossNames>([](auto& t) -> auto& { return Loss(t).kind; }),
     "The objective. relative: how much better than no motion the flow explains the pictures. "
     "census, ssim: the same, but only structure counts, not brightness. photo_and_smooth, hs: as "
     "published with the networks above, with a smoothness of 1.",
     ForTasks::kFlow},
    {"smoothness", RealType{0, 100}, Member([](auto& t) -> auto& { return Loss(t).smoothness; }),
     "The weight of smooth motion against the explanation of the pictures: 0 to 100. Left out: 10 "
     "for the network refine, else 0.1.",
     ForTasks::kFlow},
    {"occlusion", FlagType{}, Member([](auto& t) -> auto& { return Loss(t).occlusion; }),
     "Learn nothing from a pixel that is hidden in one of the two pictures. It doubles the "
     "network's work.",
     ForTasks::kFlow},
    {"seed", WholeType{0, INT64_MAX},
     Member([](auto& t) -> auto& { return t.stream->learner.seed; }),
     "The seed of random weights and of layers such as dropout. Checkpoints of another seed are "
     "refused."},
    {"outputs", WholeType{1, 10'000},
     Member([](auto& t) -> auto& { return t.stream->labels.outputs; }),
     "The keys from here on are for classification and regression only. The number of classes or "
     "values. Not needed beside `classes`.",
     ForTasks::kLabels},
    {"classes", DistinctType{{2, 1000}},
     Member([](auto& t) -> auto& { return t.stream->labels.classes; }),
     "Names of the classes, instead of `outputs`: labels and predictions then have them.",
     ForTasks::kLabels},
    {"window", WholeType{1, 65'536},
     Member([](auto& t) -> auto& { return t.stream->labels.window; }),
     "Each step learns from this number of the newest frames. A label teaches until its frame has "
     "left them. More frames cost more.",
     ForTasks::kLabels},
    {"pictures",
     ChoiceType{PictureForms},
     {[](const Target& t) -> Json { return t.stream->labels.grey ? "grey" : "colour"; },
      [](const Value& /*at*/, const Json& value, const Target& t) {
        t.stream->labels.grey = value == "grey";
      }},
     "The network's pictures: grey or colour.",
     ForTasks::kLabels},
    {"layers", WholeType{2, 256}, Member([](auto& t) -> auto& { return t.stream->labels.layers; }),
     "mlp and convolutional: the number of layers, and the width of each in numbers or channels.",
     ForTasks::kLabels},
    {"width", WholeType{1, 4096}, Member([](auto& t) -> auto& { return t.stream->labels.width; }),
     "", ForTasks::kLabels},
};

// ----------------------------------------------------------------------------------- The rules --

// An input that follows the camera always fits the network.
void CheckInput(const ConfigValue& stream, const StreamConfig& config, int size_multiple) {
  const pipeline::LearnerOptions& learner = config.learner;
  if (!config.input_is_set) return;
  if (std::min(learner.width, learner.height) < kMinFlowPicture) {
    stream.WrongAt("model", "input",
                   absl::StrCat("is ", learner.width, "x", learner.height, "; flow needs at least ",
                                kMinFlowPicture, "x", kMinFlowPicture));
  }
  if (learner.width % size_multiple != 0 || learner.height % size_multiple != 0) {
    stream.WrongAt("model", "input",
                   absl::StrCat("is ", learner.width, "x", learner.height, "; the network ",
                                config.flow.network, " needs multiples of ", size_multiple));
  }
}

}  // namespace

ConfigKeys ModelKeys() { return kModelKeys; }

void CheckModel(const ConfigValue& stream, const StreamConfig& config) {
  const pipeline::FlowTaskOptions& flow = config.flow;
  const auto input = pipeline::FlowNetworkInputOf(flow.network);
  if (!input.ok()) return;  // Already noted.
  CheckInput(stream, config, input->size_multiple);
  if (flow.loss.occlusion && !pipeline::KnowsHiddenPixels(flow.loss.kind)) {
    stream.WrongAt("model", "occlusion", "is for the losses relative, census and ssim only");
  }
  if (flow.next_frame && flow.loss.occlusion) {
    stream.WrongAt("model", "occlusion", "needs the flow there and back: not for task next_frame");
  }
  if (flow.next_frame && config.scores.compare_with != "none") {
    stream.WrongAt("scores", "compare_with", "compares motion: not for task next_frame");
  }
  const pipeline::LearnerOptions& learner = config.learner;
  if (learner.schedule != "local") return;
  const auto max_stages = static_cast<int>(input->level_begins.size()) + 1;
  if (max_stages == 1) {
    stream.WrongAt("schedule", "kind", "is local, which needs the network levels");
  } else if (learner.stages > max_stages) {
    stream.WrongAt("schedule", "stages",
                   absl::StrCat("is ", learner.stages, "; with the kind local there are at most ",
                                max_stages));
  }
}

}  // namespace millrace::service
