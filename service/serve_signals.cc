#include "service/serve_signals.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/check.h"
#include "spdlog/spdlog.h"

namespace millrace::service {

StopSignals::StopSignals(HangUp hang_up) {
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
  close(signals_);
  close(end_);
}

void StopSignals::Watch(std::function<void()> on_stop, std::function<void()> on_reload) {
  MILLRACE_CHECK(!waiter_.joinable());
  waiter_ = std::jthread(
      [this, calls = Calls{std::move(on_stop), std::move(on_reload)}] { Wait(calls); });
}

void StopSignals::Wait(const Calls& calls) {
  bool asked = false;
  std::array<pollfd, 2> files = {{{.fd = signals_, .events = POLLIN, .revents = 0},
                                  {.fd = end_, .events = POLLIN, .revents = 0}}};
  while (true) {
    if (poll(files.data(), files.size(), /*timeout=*/-1) < 0 && errno != EINTR) return;
    if ((files[1].revents & POLLIN) != 0) return;
    if ((files[0].revents & POLLIN) == 0) continue;
    signalfd_siginfo signal = {};
    if (read(signals_, &signal, sizeof(signal)) != sizeof(signal)) continue;
    if (signal.ssi_signo == SIGHUP) {
      if (calls.reload) calls.reload();
      continue;
    }
    if (asked) _exit(128 + static_cast<int>(signal.ssi_signo));
    asked = true;
    spdlog::info("{}: ending; a second signal ends at once",
                 signal.ssi_signo == SIGINT ? "interrupted" : "asked to terminate");
    calls.stop();
  }
}

}  // namespace millrace::service
