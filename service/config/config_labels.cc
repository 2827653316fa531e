// Rules for a stream that learns from labels.
#include "absl/strings/str_cat.h"
#include "service/config/config_keys.h"

namespace millrace::service {

namespace {

void CheckLabels(const ConfigValue& stream, const StreamConfig& config) {
  const auto outputs = config.labels.outputs;
  const auto classes = static_cast<int>(config.labels.classes.size());
  if (config.task == Task::kRegression) {
    if (classes > 0) stream.WrongAt("model", "classes", "is for the task classification only");
    if (outputs == 0) {
      stream.WrongAt("model", "task", "needs 'outputs', how many values there are");
    }
  } else if (outputs == 0 && classes == 0) {
    stream.WrongAt("model", "task", "needs 'outputs', how many classes there are, or 'classes'");
  } else if (outputs == 1) {
    stream.WrongAt("model", "outputs", "is 1; there must be 2 classes or more");
  } else if (outputs > 0 && classes > 0 && outputs != classes) {
    stream.WrongAt("model", "outputs",
                   absl::StrCat("is ", outputs, "; 'classes' has ", classes, " names"));
  }
  if (config.learner.schedule == "local") {
    stream.WrongAt("schedule", "kind",
                   "is local, which is not for the tasks classification and regression");
  }
}

}  // namespace

void CompleteLabels(const ConfigValue& entry, StreamConfig& stream) {
  if (!stream.input_is_set) {
    stream.source.width = stream.learner.width = kLabelPicture;
    stream.source.height = stream.learner.height = kLabelPicture;
  }
  CheckLabels(entry, stream);
  pipeline::LabelTaskOptions& labels = stream.labels;
  if (labels.outputs == 0) labels.outputs = static_cast<int>(labels.classes.size());
}

}  // namespace millrace::service
