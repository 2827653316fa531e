#include "pipeline/engine/turn_lock.h"

#include <atomic>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

// One thread has the lock but for moments; the other gets it all the same, and never beside it.
TEST(TurnLockTest, WhoWaitsGetsItFromAThreadThatHasItAlmostAlways) {
  TurnLock lock;
  int held = 0;  // 1 while a thread has the lock.
  std::atomic<bool> done = false;
  std::jthread greedy([&] {
    while (!done) {
      const std::lock_guard mine(lock);
      EXPECT_EQ(++held, 1);
      --held;
    }
  });
  for (int i = 0; i < 1000; ++i) {
    const std::lock_guard mine(lock);
    EXPECT_EQ(++held, 1);
    --held;
  }
  done = true;
}

}  // namespace
}  // namespace millrace::pipeline
