#include "service/rpc/streaming_calls.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/error_reason.h"

namespace millrace::service {
namespace {

using namespace std::chrono_literals;

/// Does what a test wants when it is pumped.
class FakeCall final : public StreamingCall {
 public:
  explicit FakeCall(
      std::function<void()> pump = [] {}, const void* topic = nullptr)
      : pump_(std::move(pump)) {
    if (topic != nullptr) Follow(topic);
  }

  void Pump() override {
    ++pumped_;
    pump_();
  }
  void EndIfStalled(std::chrono::nanoseconds /*now*/, std::chrono::nanoseconds limit) override {
    if (!std::exchange(checked_, true)) limit_.set_value(limit);
  }

  [[nodiscard]] int pumped() const { return pumped_; }
  /// Waits for the first check.
  [[nodiscard]] std::chrono::nanoseconds AwaitLimit() { return limit_.get_future().get(); }

 private:
  const std::function<void()> pump_;
  std::atomic<int> pumped_ = 0;
  bool checked_ = false;  // Of the thread of StreamingCalls.
  std::promise<std::chrono::nanoseconds> limit_;
};

// The checks of all calls are an hour away.
TEST(StreamingCallsTest, NewsOfATopicPumpTheCallsThatFollowIt) {
  StreamingCalls calls(10h);
  const int topic = 0;
  std::promise<void> pumped;
  const auto follower = std::make_shared<FakeCall>([&] { pumped.set_value(); }, &topic);
  const auto other = std::make_shared<FakeCall>();
  ASSERT_TRUE(calls.Add(follower).ok());
  ASSERT_TRUE(calls.Add(other).ok());
  calls.Wake(&topic);
  pumped.get_future().wait();
  calls.Remove(*follower);
  calls.Remove(*other);
  EXPECT_EQ(other->pumped(), 0);
}

TEST(StreamingCallsTest, ACallFollowsItselfAtFirst) {
  StreamingCalls calls(10h);
  std::promise<void> pumped;
  const auto call = std::make_shared<FakeCall>([&] { pumped.set_value(); });
  ASSERT_TRUE(calls.Add(call).ok());
  calls.Wake(call.get());
  pumped.get_future().wait();
  calls.Remove(*call);
}

TEST(StreamingCallsTest, WakeAllPumpsEveryCallAndLooksForStalledClients) {
  StreamingCalls calls(10h);
  std::vector<std::shared_ptr<FakeCall>> all;
  for (int i = 0; i < 3; ++i) {
    all.push_back(std::make_shared<FakeCall>());
    ASSERT_TRUE(calls.Add(all.back()).ok());
  }
  calls.WakeAll();
  for (const auto& call : all) {
    EXPECT_EQ(call->AwaitLimit(), 10h);
    EXPECT_EQ(call->pumped(), 1);
    calls.Remove(*call);
  }
}

TEST(StreamingCallsTest, StalledClientsAreLookedForWithoutNews) {
  constexpr std::chrono::nanoseconds kLimit = 50ms;
  StreamingCalls calls(kLimit);
  const auto call = std::make_shared<FakeCall>();
  ASSERT_TRUE(calls.Add(call).ok());
  EXPECT_EQ(call->AwaitLimit(), kLimit);
  calls.Remove(*call);
}

TEST(StreamingCallsTest, TooManyCallsAreRefusedUntilOneEnds) {
  StreamingCalls calls(10h);
  std::vector<std::shared_ptr<FakeCall>> all;
  for (std::size_t i = 0; i < StreamingCalls::kMax; ++i) {
    all.push_back(std::make_shared<FakeCall>());
    ASSERT_TRUE(calls.Add(all.back()).ok()) << i;
  }
  const auto one_more = std::make_shared<FakeCall>();
  const absl::Status refused = calls.Add(one_more);
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  EXPECT_EQ(ReasonOf(refused), "TOO_MANY_SUBSCRIBERS");
  calls.Remove(*all.back());
  all.back() = one_more;
  EXPECT_TRUE(calls.Add(one_more).ok());
  for (const auto& call : all) calls.Remove(*call);
}

// gRPC may end a call while the thread pumps it.
TEST(StreamingCallsTest, ACallLivesUntilItIsRemovedAndNoLongerPumped) {
  StreamingCalls calls(10h);
  std::promise<void> begun;
  std::promise<void> go_on;
  auto call = std::make_shared<FakeCall>([&] {
    begun.set_value();
    go_on.get_future().wait();
  });
  const std::weak_ptr<FakeCall> lives = call;
  FakeCall& removed = *call;
  ASSERT_TRUE(calls.Add(std::move(call)).ok());
  calls.Wake(&removed);
  begun.get_future().wait();
  calls.Remove(removed);
  EXPECT_FALSE(lives.expired());
  go_on.set_value();
  while (!lives.expired()) std::this_thread::yield();
}

}  // namespace
}  // namespace millrace::service
