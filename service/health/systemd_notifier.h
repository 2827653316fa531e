// Tells systemd how the server is, where that started it (Type=notify, WatchdogSec): sd_notify(3).
#pragma once

#include <chrono>
#include <string>

namespace millrace::service {

/// Says nothing where nobody asked for it. For one thread.
class SystemdNotifier {
 public:
  /// Reads what systemd said in the environment.
  SystemdNotifier();

  /// It serves. `status`: a line for people.
  void Ready(const std::string& status);
  void Status(const std::string& status);
  /// It lives: to be called as often as can be while it does, and told on twice in each period of
  /// the watchdog.
  void Alive(std::chrono::nanoseconds now);
  /// It ends.
  void Stopping();

 private:
  const std::chrono::microseconds period_;  // Of the watchdog; 0: there is none.

  std::chrono::nanoseconds told_{0};
};

}  // namespace millrace::service
