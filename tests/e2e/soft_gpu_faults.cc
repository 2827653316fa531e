// Faults on request of a test, in a program with software GPUs: SIGUSR1 fills their memory, SIGUSR2
// makes them fail.
#include <csignal>
#include <thread>

#include "tests/pipeline/soft_gpu/soft_gpu.h"
#include "tests/pipeline/soft_gpu/streams.h"

namespace millrace::soft_gpu {
namespace {

void AwaitFaults(const sigset_t& faults) {
  for (int asked = 0; sigwait(&faults, &asked) == 0;) {
    if (asked == SIGUSR1) LimitMemory(1);
    if (asked == SIGUSR2) Streams::Get().Fail(true);
  }
}

// Runs before any other thread starts, so that all other threads block these two signals. The
// waiting thread blocks all other signals.
[[maybe_unused]] const bool kWaits = [] {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  sigset_t faults;
  sigemptyset(&faults);
  sigaddset(&faults, SIGUSR1);
  sigaddset(&faults, SIGUSR2);
  std::thread([faults] { AwaitFaults(faults); }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_sigmask(SIG_BLOCK, &faults, nullptr);
  return true;
}();

}  // namespace
}  // namespace millrace::soft_gpu
