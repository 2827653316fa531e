// The pictures and the table of docs/schedules.md, generated from the schedules themselves.
#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"

namespace millrace::service {

/// Keyed by schedule: an SVG of four equal stages, forward 1 ms, backward 2 ms.
[[nodiscard]] absl::StatusOr<std::map<std::string, std::string>> SchedulePictures();

/// The same plans' numbers, one row of Markdown each.
[[nodiscard]] absl::StatusOr<std::string> ScheduleFigures();

}  // namespace millrace::service
