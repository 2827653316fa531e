#include "service/server/cli_log.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/str_split.h"
#include "base/log_about.h"
#include "nlohmann/json.hpp"
#include "service/metrics/log_limit.h"
#include "spdlog/pattern_formatter.h"
#include "spdlog/sinks/stdout_color_sinks.h"
#include "spdlog/spdlog.h"

namespace millrace::service {
namespace {

/// {"time": "2026-11-24T02:28:17.100+0000", "level": "warning", "stream": "door", "message":
/// "..."}, one object per line; without "stream" if the message is about no stream.
class JsonLines final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& line) override {
    spdlog::memory_buf_t time;
    time_.format(message, time);
    const auto level = spdlog::level::to_string_view(message.level);
    nlohmann::ordered_json json = {{"time", std::string_view(time.data(), time.size())},
                                   {"level", std::string_view(level.data(), level.size())}};
    if (!LogAbout::Stream().empty()) json["stream"] = LogAbout::Stream();
    json["message"] = std::string_view(message.payload.data(), message.payload.size());
    const std::string text =
        json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    line.append(text.data(), text.data() + text.size());
    line.push_back('\n');
  }
  [[nodiscard]] std::unique_ptr<formatter> clone() const override {
    return std::make_unique<JsonLines>();
  }

 private:
  spdlog::pattern_formatter time_{"%Y-%m-%dT%H:%M:%S.%e%z", spdlog::pattern_time_type::local, ""};
};

// NOLINTNEXTLINE(concurrency-mt-unsafe): main() calls it before any thread starts.
const char* Environment(const char* name) { return std::getenv(name); }

/// See https://no-color.org.
bool WantsNoColor() {
  const char* said = Environment("NO_COLOR");
  return said != nullptr && *said != '\0';
}

/// A second logger without LogLimit: its messages are never repeats, even if they look alike.
constexpr char kFailures[] = "failures";

/// An invalid level must not silence the log.
void SetLevel(const std::string& name) {
  const spdlog::level::level_enum level = spdlog::level::from_str(name);
  if (level == spdlog::level::off && name != "off") {
    spdlog::warn(
        "MILLRACE_LOG is '{}', which is no level: it is debug, info, warning, error or off", name);
    return;
  }
  spdlog::set_level(level);
}

/// LogLimit's summaries become due even if no further message comes. The flush thread blocks all
/// signals, because StopSignals waits for the signals that end the program.
void FlushEverySecond() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  spdlog::flush_every(std::chrono::seconds(1));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

void LogToStderr() {
  const auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
  if (WantsNoColor()) sink->set_color_mode(spdlog::color_mode::never);
  const auto limit = std::make_shared<LogLimit>(LogLimit::Options{.to = sink});
  const auto logger = std::make_shared<spdlog::logger>("millrace", limit);
  const char* format = Environment("MILLRACE_LOG_FORMAT");
  if (format != nullptr && std::string_view(format) == "json") {
    logger->set_formatter(std::make_unique<JsonLines>());
  } else {
    // On a terminal a message replaces the progress line, which is written again below it.
    const bool terminal = isatty(STDERR_FILENO) != 0;
    logger->set_pattern(terminal ? "\r\x1b[K%H:%M:%S %^%l%$ %v" : "%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  }
  spdlog::set_default_logger(logger);
  spdlog::register_logger(std::make_shared<spdlog::logger>(kFailures, sink));
  if (const char* name = Environment("MILLRACE_LOG")) SetLevel(name);
  FlushEverySecond();
}

void LogFailure(const std::string& why) {
  std::shared_ptr<spdlog::logger> log = spdlog::get(kFailures);
  if (log == nullptr) log = spdlog::default_logger();  // LogToStderr() was not called.
  for (const absl::string_view line : absl::StrSplit(why, '\n')) {
    log->error("{}", std::string(line));
  }
}

}  // namespace millrace::service
