#include "pipeline/engine/fair_mutex.h"

#include <atomic>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

// One thread holds the mutex almost always. The other one gets it too, and the two never hold it at
// once.
TEST(FairMutexTest, AWaiterGetsItFromAThreadThatHoldsItAlmostAlways) {
  FairMutex lock;
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
