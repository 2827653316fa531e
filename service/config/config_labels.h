// The configuration of a stream that learns from labels: the keys that its `model.task` adds and
// the keys that it forbids.
#pragma once

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

}  // namespace millrace::service
