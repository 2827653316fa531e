// Measures the costs of a stream's model on this machine, for `millrace plan --config`.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "service/commands/plan/plan_command.h"

namespace millrace::service {

/// Loads the configuration at `path` and measures the model of `stream` on one thread, as a worker
/// would run it. An empty name means the only stream. Takes a few seconds and shows a bar on
/// standard error. Fails as LoadConfig() does; fails with INVALID_ARGUMENT, naming the streams, if
/// there is no such stream.
[[nodiscard]] absl::StatusOr<MeasuredModel> MeasureConfiguredModel(const std::string& path,
                                                                   const std::string& stream);

}  // namespace millrace::service
