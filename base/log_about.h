// Names the camera stream of a thread's log lines, for programs that read the log.
//
//   const LogAbout about(stream);
//   spdlog::warn("stream '{}': ...", stream);
//
// People read the name in the text. A JSON log has it as a separate value in each line.
#pragma once

#include <string_view>
#include <utility>

namespace millrace {

/// While it is in scope, this thread's log lines belong to `stream`, which it borrows. In nested
/// scopes the innermost one counts.
class LogAbout {
 public:
  explicit LogAbout(std::string_view stream) : before_(std::exchange(Current(), stream)) {}
  ~LogAbout() { Current() = before_; }

  LogAbout(const LogAbout&) = delete;
  LogAbout& operator=(const LogAbout&) = delete;

  /// The stream of this thread's log lines; empty: no stream.
  [[nodiscard]] static std::string_view Stream() { return Current(); }

 private:
  static std::string_view& Current() {
    thread_local std::string_view current;
    return current;
  }

  const std::string_view before_;
};

}  // namespace millrace
