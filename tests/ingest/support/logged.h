// The log of a test's subject.
#pragma once

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <sstream>
#include <string>
#include <utility>

namespace millrace::ingest {

/// The log while this object lives, at the default level: a line `LEVEL TEXT` for each entry.
class Logged {
 public:
  Logged() : usual_(spdlog::default_logger()) {
    auto logger = std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_));
    logger->set_pattern("%l %v");
    spdlog::set_default_logger(std::move(logger));
  }
  ~Logged() { spdlog::set_default_logger(usual_); }
  Logged(const Logged&) = delete;
  Logged& operator=(const Logged&) = delete;

  [[nodiscard]] std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  const std::shared_ptr<spdlog::logger> usual_;
};

}  // namespace millrace::ingest
