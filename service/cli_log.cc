#include "service/cli_log.h"

#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "spdlog/sinks/stdout_color_sinks.h"
#include "spdlog/spdlog.h"

namespace millrace::service {

void LogToStderr() {
  const auto logger = spdlog::stderr_color_mt("millrace");
  // On a terminal a message takes the place of the progress line, which is written again below it.
  const bool terminal = isatty(STDERR_FILENO) != 0;
  logger->set_pattern(terminal ? "\r\x1b[K%H:%M:%S %^%l%$ %v" : "%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  // NOLINTNEXTLINE(concurrency-mt-unsafe): main() calls this before any thread starts.
  if (const char* level = std::getenv("MILLRACE_LOG")) {
    logger->set_level(spdlog::level::from_str(level));
  }
  spdlog::set_default_logger(logger);
}

}  // namespace millrace::service
