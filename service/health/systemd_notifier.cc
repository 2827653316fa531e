#include "service/health/systemd_notifier.h"

#include <systemd/sd-daemon.h>

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace millrace::service {
namespace {

std::chrono::microseconds WatchdogPeriod() {
  std::uint64_t microseconds = 0;
  const bool enabled = sd_watchdog_enabled(/*unset_environment=*/0, &microseconds) > 0;
  return std::chrono::microseconds(enabled ? microseconds : 0);
}

// Ignores errors: systemd may be gone.
void Notify(const std::string& state) {
  static_cast<void>(sd_notify(/*unset_environment=*/0, state.c_str()));
}

}  // namespace

SystemdNotifier::SystemdNotifier() : period_(WatchdogPeriod()) {}

void SystemdNotifier::Ready(const std::string& status) {
  Notify(absl::StrCat("READY=1\nSTATUS=", status));
}

void SystemdNotifier::Status(const std::string& status) { Notify(absl::StrCat("STATUS=", status)); }

void SystemdNotifier::Alive(std::chrono::nanoseconds now) {
  if (period_.count() == 0 || now - notified_at_ < period_ / 2) return;
  notified_at_ = now;
  Notify("WATCHDOG=1");
}

void SystemdNotifier::Stopping() { Notify("STOPPING=1\nSTATUS=stopping"); }

}  // namespace millrace::service
