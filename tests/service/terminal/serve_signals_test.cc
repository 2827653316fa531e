#include "service/terminal/serve_signals.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include <gtest/gtest.h>

namespace millrace::service {
namespace {

/// Counts calls and lets the test wait for them.
class Calls {
 public:
  void Add() {
    std::scoped_lock lock(mu_);
    ++calls_;
    changed_.notify_all();
  }
  void WaitFor(int calls) {
    std::unique_lock lock(mu_);
    changed_.wait(lock, [&] { return calls_ >= calls; });
  }

 private:
  std::mutex mu_;
  std::condition_variable changed_;
  int calls_ = 0;
};

TEST(StopSignalsTest, TurnsTheFirstSignalIntoACall) {
  for (const int number : {SIGTERM, SIGINT}) {
    StopSignals signals;
    Calls calls;
    signals.Watch([&] { calls.Add(); });
    kill(getpid(), number);
    calls.WaitFor(1);  // Hangs, and is killed by the test's timeout, if nothing is called.
  }
}

TEST(StopSignalsTest, RemembersASignalThatCameBeforeItWatched) {
  StopSignals signals;
  kill(getpid(), SIGTERM);
  Calls calls;
  signals.Watch([&] { calls.Add(); });
  calls.WaitFor(1);
}

TEST(StopSignalsTest, ForgetsWithoutASignal) {
  StopSignals signals;
  signals.Watch([] { FAIL() << "nobody sent a signal"; });
  signals.Forget();
  signals.Forget();
}

TEST(StopSignalsTest, AHangUpAsksToReloadAsOftenAsItComes) {
  StopSignals signals(StopSignals::HangUp::kAsksToReload);
  Calls calls;
  signals.Watch([] { FAIL() << "nobody asked to stop"; }, [&] { calls.Add(); });
  kill(getpid(), SIGHUP);
  calls.WaitFor(1);
  kill(getpid(), SIGHUP);
  calls.WaitFor(2);
}

TEST(StopSignalsDeathTest, AHangUpEndsWhatHasNothingToReload) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        StopSignals signals;
        kill(getpid(), SIGHUP);
      },
      ::testing::KilledBySignal(SIGHUP), "");
}

TEST(StopSignalsDeathTest, TheSecondSignalEndsTheProcessAtOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        StopSignals signals;
        Calls calls;
        signals.Watch([&] { calls.Add(); });
        kill(getpid(), SIGTERM);
        calls.WaitFor(1);
        kill(getpid(), SIGTERM);
        calls.WaitFor(2);  // Never comes.
      },
      ::testing::ExitedWithCode(128 + SIGTERM), "");
}

TEST(StopSignalsDeathTest, AnEndThatHangsIsOverAfterItsLimit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        StopSignals signals(StopSignals::HangUp::kEnds, std::chrono::milliseconds(50));
        Calls calls;
        signals.Watch([&] { calls.Add(); });
        kill(getpid(), SIGTERM);
        calls.WaitFor(2);  // Never comes.
      },
      ::testing::ExitedWithCode(128 + SIGTERM), "");
}

}  // namespace
}  // namespace millrace::service
