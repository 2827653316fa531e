// The configuration of a stream that learns from labels: the keys that its `model.task` adds and
// the keys that it forbids.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "service/config/config.h"
#include "service/config/config_value.h"

namespace millrace::service {

/// The keys of `model` that exist only for tasks of labels. Each function reads one into
/// `stream.labels`.
void ReadLabelNetwork(const ConfigValue& value, StreamConfig& stream);
void ReadOutputs(const ConfigValue& value, StreamConfig& stream);
void ReadClasses(const ConfigValue& value, StreamConfig& stream);
void ReadLabelWindow(const ConfigValue& value, StreamConfig& stream);
void ReadLayers(const ConfigValue& value, StreamConfig& stream);
void ReadLayerWidth(const ConfigValue& value, StreamConfig& stream);
void ReadPictures(const ConfigValue& value, StreamConfig& stream);

/// Notes an error for each key of `section` that does not apply to `task`.
void RefuseKeysOfOtherTasks(const ConfigValue& section, Task task);
/// Notes an error at `section`, which applies to flow only, if `task` is another one.
void RefuseUnlessFlow(const ConfigValue& section, Task task);

/// Notes each missing or contradictory setting of `config` in the errors of `stream`, the stream's
/// YAML node. REQUIRES: a task of labels.
void CheckLabels(const ConfigValue& stream, const StreamConfig& config);

/// Copies the settings shared with flow into `stream.labels`, and clears the settings for flow
/// alone. REQUIRES: a task of labels.
void CompleteLabels(StreamConfig& stream);

/// The weights file that a stream's model starts from. Empty: not set.
[[nodiscard]] inline const std::string& WeightsOf(const StreamConfig& stream) {
  return IsOfLabels(stream.task) ? stream.labels.learner.weights : stream.learner.weights;
}

/// The folder of a stream's checkpoints. Empty: the stream keeps no checkpoints.
[[nodiscard]] inline std::string FolderOf(const StreamConfig& stream) {
  if (!IsOfLabels(stream.task)) return stream.learner.checkpoints.folder;
  const std::optional<pipeline::LabelSafety>& safety = stream.labels.learner.safety;
  return safety ? safety->checkpoints.folder : std::string();
}

}  // namespace millrace::service
