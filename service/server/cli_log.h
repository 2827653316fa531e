// Where the program's log goes: standard error, so that standard output stays clean.
#pragma once

#include <string>

namespace millrace::service {

/// Sets up spdlog's default logger. MILLRACE_LOG names the least level shown: "debug", "info" (the
/// default), "warning", "error" or "off"; anything else is warned about. MILLRACE_LOG_FORMAT=json
/// makes each message an object on one line, for programs. What is said again and again is shown
/// once a second (log_limit.h), by a thread that lives until the end. Colours only on a terminal,
/// and none where NO_COLOR says so.
void LogToStderr();

/// Says why the program ends: a message for each line, as a configuration may be wrong in several.
/// All are shown, however alike they are.
void LogFailure(const std::string& why);

}  // namespace millrace::service
