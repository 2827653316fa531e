#include "service/terminal/serve_signals.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/check.h"
#include "spdlog/spdlog.h"

namespace millrace::service {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr auto kNever = steady_clock::time_point::max();

/// The timeout for poll(2), rounded up.
int LeftUntil(steady_clock::time_point until) {
  if (until == kNever) return -1;
  const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
  return std::max(0, static_cast<int>(left.count()));
}

/// Kills the process if EndAtOnce() itself blocks: its log message may wait for a stuck terminal.
void AlarmAfter(milliseconds limit) {
  alarm(static_cast<unsigned>(std::chrono::ceil<std::chrono::seconds>(limit).count() + 1));
}

[[noreturn]] void EndAtOnce(int signal, milliseconds limit) {
  spdlog::critical(
      "something hangs: the server has not ended within {} s of being asked to, and ends now as it "
      "is; what was learned since the last checkpoint of a stream that hangs is lost",
      static_cast<double>(limit.count()) / 1000);
  spdlog::default_logger()->flush();
  _exit(128 + signal);
}

}  // namespace

StopSignals::StopSignals(HangUp hang_up, std::chrono::milliseconds limit) : limit_(limit) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  if (hang_up == HangUp::kAsksToReload) sigaddset(&set, SIGHUP);
  MILLRACE_CHECK(pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0);
  signals_ = signalfd(-1, &set, SFD_CLOEXEC);
  end_ = eventfd(0, EFD_CLOEXEC);
  MILLRACE_CHECK(signals_ >= 0 && end_ >= 0);
}

void StopSignals::Forget() {
  const std::uint64_t one = 1;
  MILLRACE_CHECK(write(end_, &one, sizeof(one)) == sizeof(one));
  if (waiter_.joinable()) waiter_.join();
}

StopSignals::~StopSignals() {
  Forget();
  alarm(0);
  close(signals_);
  close(end_);
}

void StopSignals::Watch(std::function<void()> on_stop, std::function<void()> on_reload) {
  MILLRACE_CHECK(!waiter_.joinable());
  waiter_ = std::jthread(
      [this, calls = Calls{std::move(on_stop), std::move(on_reload)}] { Wait(calls); });
}

void StopSignals::Wait(const Calls& calls) {
  int asked_by = 0;
  steady_clock::time_point until = kNever;
  std::array<pollfd, 2> files = {{{.fd = signals_, .events = POLLIN, .revents = 0},
                                  {.fd = end_, .events = POLLIN, .revents = 0}}};
  while (true) {
    if (poll(files.data(), files.size(), LeftUntil(until)) < 0 && errno != EINTR) return;
    if ((files[1].revents & POLLIN) != 0) return;
    if (LeftUntil(until) == 0) EndAtOnce(asked_by, limit_);
    if ((files[0].revents & POLLIN) == 0) continue;
    signalfd_siginfo signal = {};
    if (read(signals_, &signal, sizeof(signal)) != sizeof(signal)) continue;
    if (signal.ssi_signo == SIGHUP) {
      if (calls.reload) calls.reload();
      continue;
    }
    if (asked_by != 0) _exit(128 + static_cast<int>(signal.ssi_signo));
    asked_by = static_cast<int>(signal.ssi_signo);
    if (limit_.count() > 0) {
      until = steady_clock::now() + limit_;
      AlarmAfter(limit_);
    }
    spdlog::info("{}: ending; a second signal ends at once",
                 asked_by == SIGINT ? "interrupted" : "asked to terminate");
    calls.stop();
  }
}

}  // namespace millrace::service
