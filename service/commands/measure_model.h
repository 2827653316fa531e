// What a stream's model costs on this machine, for `millrace plan --config`.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "service/commands/plan/cmd_plan.h"

namespace millrace::service {

/// Loads the configuration at `path` and measures the model of `stream`, on one thread, as a worker
/// would run it. Takes a few seconds, with a bar on standard error. Fails as LoadConfig() does, and
/// with INVALID_ARGUMENT naming the streams unless there is one of that name, or just one and no
/// name.
[[nodiscard]] absl::StatusOr<MeasuredModel> MeasureConfiguredModel(const std::string& path,
                                                                   const std::string& stream);

}  // namespace millrace::service
