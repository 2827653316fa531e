#include "base/helper_thread.h"

#include <sys/resource.h>
#include <unistd.h>

#include <stdexcept>

#include <gtest/gtest.h>

namespace millrace {
namespace {

int Niceness() { return getpriority(PRIO_PROCESS, static_cast<id_t>(gettid())); }

TEST(HelperThreadTest, WorksAtThePriorityOfWhoMadeIt) {
  const int ordinary = Niceness();
  HelperThread helper;
  std::jthread([&helper, ordinary] {
    ASSERT_EQ(setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 19), 0);
    int while_working = 19;
    helper.Do([&] { while_working = Niceness(); });
    EXPECT_EQ(while_working, ordinary);
    EXPECT_EQ(Niceness(), 19);
  }).join();
}

TEST(HelperThreadTest, ThrowsWhatTheWorkThrowsAndGoesOn) {
  HelperThread helper;
  EXPECT_THROW(helper.Do([] { throw std::runtime_error("no memory"); }), std::runtime_error);
  bool done = false;
  helper.Do([&] { done = true; });
  EXPECT_TRUE(done);
}

}  // namespace
}  // namespace millrace
