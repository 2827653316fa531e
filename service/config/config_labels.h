// The configuration of a stream that learns from labels: what `model.task` adds to the keys, and
// takes from them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "service/config/config.h"
#include "service/config/config_value.h"

namespace millrace::service {

/// The keys of `model` that only tasks of labels have: each reads one into `stream.labels`.
void ReadLabelNetwork(const ConfigValue& value, StreamConfig& stream);
void ReadOutputs(const ConfigValue& value, StreamConfig& stream);
void ReadClasses(const ConfigValue& value, StreamConfig& stream);
void ReadLabelWindow(const ConfigValue& value, StreamConfig& stream);
void ReadLayers(const ConfigValue& value, StreamConfig& stream);
void ReadLayerWidth(const ConfigValue& value, StreamConfig& stream);
void ReadPictures(const ConfigValue& value, StreamConfig& stream);

/// Notes each key of `model`, `schedule` or another section that the task knows nothing of.
void RefuseKeysOfOtherTasks(const ConfigValue& section, Task task);
/// Notes that the whole of `section` is for flow, unless that is the task.
void RefuseUnlessFlow(const ConfigValue& section, Task task);

/// Notes in the errors of `stream`, a stream's node, what a task of labels lacks in `config`, and
/// what does not fit together. REQUIRES: it is such a task.
void CheckLabels(const ConfigValue& stream, const StreamConfig& config);

/// Gives `stream.labels` what it shares with flow, and takes from `stream` what the file says for
/// flow alone. REQUIRES: it is a task of labels.
void CompleteLabels(StreamConfig& stream);

/// The file of weights that a stream's model is to start from. Empty: the file does not say.
[[nodiscard]] inline const std::string& WeightsOf(const StreamConfig& stream) {
  return IsOfLabels(stream.task) ? stream.labels.learner.weights : stream.learner.weights;
}

/// The folder that a stream keeps its checkpoints in. Empty: it keeps none.
[[nodiscard]] inline std::string FolderOf(const StreamConfig& stream) {
  if (!IsOfLabels(stream.task)) return stream.learner.checkpoints.folder;
  const std::optional<pipeline::LabelSafety>& safety = stream.labels.learner.safety;
  return safety ? safety->checkpoints.folder : std::string();
}

}  // namespace millrace::service
