// Which camera stream the log's lines are about, for programs that read them.
//
//   const LogAbout about(stream);
//   spdlog::warn("stream '{}': ...", stream);
//
// People read it in the text; where the log is JSON, each line has the name as a value of its own.
#pragma once

#include <string_view>
#include <utility>

namespace millrace {

/// Until it goes out of scope, what this thread logs is about `stream`, which it borrows. One
/// within another counts alone.
class LogAbout {
 public:
  explicit LogAbout(std::string_view stream) : before_(std::exchange(current_, stream)) {}
  ~LogAbout() { current_ = before_; }

  LogAbout(const LogAbout&) = delete;
  LogAbout& operator=(const LogAbout&) = delete;

  /// What this thread logs now is about. Empty: no stream.
  [[nodiscard]] static std::string_view Stream() { return current_; }

 private:
  inline static thread_local std::string_view current_;

  const std::string_view before_;
};

}  // namespace millrace
