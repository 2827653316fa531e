// Sets up the program's log on standard error, so that standard output stays clean.
#pragma once

#include <string>

namespace millrace::service {

/// Sets up spdlog's default logger. MILLRACE_LOG names the lowest level shown: "debug", "info" (the
/// default), "warning", "error" or "off"; any other value causes a warning.
/// MILLRACE_LOG_FORMAT=json makes each message a JSON object on one line. Repeated messages are
/// summed up once a second (log_limit.h), by a thread that runs until the end. Colours are used
/// only on a terminal, and only if NO_COLOR is unset.
void LogToStderr();

/// Logs why the program ends: one message per line, because a configuration may have several
/// errors. Shows all messages, even if they are alike.
void LogFailure(const std::string& why);

}  // namespace millrace::service
