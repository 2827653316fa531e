// Reports the state of the server to systemd (Type=notify, WatchdogSec) with sd_notify(3).
#pragma once

#include <chrono>
#include <string>

namespace millrace::service {

/// Does nothing if systemd did not request it. Not thread-safe.
class SystemdNotifier {
 public:
  /// Reads systemd's settings from the environment.
  SystemdNotifier();

  /// Reports that the server serves. `status`: a line for people.
  void Ready(const std::string& status);
  void Status(const std::string& status);
  /// Reports that the server is alive. Call it as often as possible while that holds. It sends
  /// twice per watchdog period.
  void Alive(std::chrono::nanoseconds now);
  /// Reports that the server is stopping.
  void Stopping();

 private:
  const std::chrono::microseconds period_;  // Of the watchdog; 0: no watchdog.

  std::chrono::nanoseconds notified_at_{0};
};

}  // namespace millrace::service
