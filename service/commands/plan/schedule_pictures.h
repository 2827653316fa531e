// The pictures and figures of docs/schedules.md, made from the schedules themselves.
#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"

namespace millrace::service {

/// By schedule: an SVG of four equal stages, forward 1 ms, backward 2 ms.
[[nodiscard]] absl::StatusOr<std::map<std::string, std::string>> SchedulePictures();

/// The same plans' figures, a row of Markdown each.
[[nodiscard]] absl::StatusOr<std::string> ScheduleFigures();

}  // namespace millrace::service
