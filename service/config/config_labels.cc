#include "service/config/config_labels.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "service/config/config_checks.h"

namespace millrace::service {
namespace {

constexpr WholeRange kOutputs{1, 10'000};
constexpr std::size_t kMostClasses = 1000;

constexpr std::string_view kOnlyForFlow = "is not for the tasks classification and regression";
constexpr std::string_view kOnlyForLabels = "is for the tasks classification and regression only";

constexpr std::array<std::string_view, 7> kKeysOfFlow = {
    "loss", "smoothness", "occlusion", "precision", "gate", "devices", "cuda_graphs"};
constexpr std::array<std::string_view, 6> kKeysOfLabels = {"outputs", "classes", "window",
                                                           "layers",  "width",   "pictures"};

}  // namespace

void ReadLabelNetwork(const ConfigValue& value, StreamConfig& stream) {
  pipeline::LabelTaskOptions& labels = stream.labels;
  std::string name = labels.model.empty() ? labels.network : labels.model;
  value.Text(name);
  if (absl::EndsWith(name, ".pt")) {
    labels.model = value.describes() ? std::move(name) : value.InFolder(name);
  } else if (name == "mlp" || name == "convolutional") {
    labels.model.clear();
    labels.network = std::move(name);
  } else {
    value.Wrong(absl::StrCat("is '", name,
                             "'; with this task it must be mlp, convolutional, or a file NAME.pt "
                             "that torch.jit.save() wrote"));
  }
}

void ReadOutputs(const ConfigValue& value, StreamConfig& stream) {
  value.Whole(kOutputs, stream.labels.outputs);
}

void ReadClasses(const ConfigValue& value, StreamConfig& stream) {
  value.Names({2, kMostClasses}, stream.labels.classes);
}

void ReadLabelWindow(const ConfigValue& value, StreamConfig& stream) {
  value.Whole({1, 65'536}, stream.labels.window);
}

void ReadLayers(const ConfigValue& value, StreamConfig& stream) {
  value.Whole({2, 256}, stream.labels.layers);
}

void ReadLayerWidth(const ConfigValue& value, StreamConfig& stream) {
  value.Whole({1, 4096}, stream.labels.width);
}

void ReadPictures(const ConfigValue& value, StreamConfig& stream) {
  static constexpr std::array<std::string_view, 2> kKnown = {"grey", "colour"};
  std::string form = stream.labels.grey ? "grey" : "colour";
  value.OneOf(kKnown, form);
  stream.labels.grey = form == "grey";
}

void RefuseKeysOfOtherTasks(const ConfigValue& section, Task task) {
  const auto refuse = [&section](auto keys, std::string_view why) {
    for (const std::string_view key : keys) {
      const std::optional<ConfigValue> value = section.Find(key);
      if (value) value->Wrong(why);
    }
  };
  if (IsOfLabels(task)) {
    refuse(kKeysOfFlow, kOnlyForFlow);
  } else {
    refuse(kKeysOfLabels, kOnlyForLabels);
  }
}

void RefuseUnlessFlow(const ConfigValue& section, Task task) {
  if (IsOfLabels(task)) section.Wrong(kOnlyForFlow);
}

void CheckLabels(const ConfigValue& stream, const StreamConfig& config) {
  const auto outputs = config.labels.outputs;
  const auto classes = static_cast<int>(config.labels.classes.size());
  if (config.task == Task::kRegression) {
    if (classes > 0) WrongAt(stream, "model", "classes", "is for the task classification only");
    if (outputs == 0) {
      WrongAt(stream, "model", "task", "needs 'outputs', how many values there are");
    }
  } else if (outputs == 0 && classes == 0) {
    WrongAt(stream, "model", "task", "needs 'outputs', how many classes there are, or 'classes'");
  } else if (outputs == 1) {
    WrongAt(stream, "model", "outputs", "is 1; there must be 2 classes or more");
  } else if (outputs > 0 && classes > 0 && outputs != classes) {
    WrongAt(stream, "model", "outputs",
            absl::StrCat("is ", outputs, "; 'classes' has ", classes, " names"));
  }
  if (config.learner.schedule == "auto" || config.learner.schedule == "local") {
    WrongAt(stream, "schedule", "kind",
            absl::StrCat("is ", config.learner.schedule,
                         ", which is not for the tasks classification and regression"));
  }
}

}  // namespace millrace::service
