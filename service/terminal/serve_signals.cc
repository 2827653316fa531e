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
      "something hangs: the server has not ended within {} s of being asked to, and ends now as "
      "it is. Learning since the last checkpoint of a stream that hangs is lost",
      static_cast<double>(limit.count()) / 1000);
  spdlog::default_logger()->flush();
  _exit(128 + signal);
}

/// Announces the graceful end that `signal` asks for. Returns its deadline. `limit` 0: no deadline.
steady_clock::time_point BeginGracefulEnd(int signal, milliseconds limit) {
  steady_clock::time_point deadline = kNever;
  if (limit.count() > 0) {
    deadline = steady_clock::now() + limit;
    AlarmAfter(limit);
  }
  spdlog::info("{}: ending; a second signal ends at once",
               signal == SIGINT ? "interrupted" : "asked to terminate");
  return deadline;
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
  while (true) {
    const std::optional<int> signal = NextSignal(until);
    if (!signal) return;
    if (LeftUntil(until) == 0) EndAtOnce(asked_by, limit_);
    if (*signal == SIGHUP && calls.reload) calls.reload();
    if (*signal == SIGHUP || *signal == 0) continue;
    if (asked_by != 0) _exit(128 + *signal);
    asked_by = *signal;
    until = BeginGracefulEnd(asked_by, limit_);
    calls.stop();
  }
}

std::optional<int> StopSignals::NextSignal(steady_clock::time_point until) const {
  std::array<pollfd, 2> files = {{{.fd = signals_, .events = POLLIN, .revents = 0},
                                  {.fd = end_, .events = POLLIN, .revents = 0}}};
  if (poll(files.data(), files.size(), LeftUntil(until)) < 0 && errno != EINTR) return std::nullopt;
  if ((files[1].revents & POLLIN) != 0) return std::nullopt;
  if ((files[0].revents & POLLIN) == 0) return 0;
  signalfd_siginfo signal = {};
  if (read(signals_, &signal, sizeof(signal)) != sizeof(signal)) return 0;
  return static_cast<int>(signal.ssi_signo);
}

}  // namespace millrace::service
