#include "service/subscriptions/subscription_hub.h"

#include <chrono>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/mutex.h"
#include "service/wire/wire.h"
#include "tests/service/support/web_fakes.h"

namespace millrace::service {
namespace {

SharedStream Serve(const std::string& name) {
  auto record = std::make_shared<StreamRecord>(MonotonicClock(), std::chrono::nanoseconds(0));
  return std::make_shared<ServedStream>(record, std::make_shared<FakeCameraStream>(name));
}

/// Counts how often it is pumped, and sends nothing.
class CountedCall final : public StreamingCall {
 public:
  explicit CountedCall(const SubscriptionHub& hub) { Follow(&hub); }

  void Pump() override {
    const MutexLock lock(mu_);
    ++pumps_;
    changed_.notify_all();
  }
  void EndIfStalled(std::chrono::nanoseconds /*now*/, std::chrono::nanoseconds /*limit*/) override {
  }

  void AwaitPumps(int pumps) {
    const MutexLock lock(mu_);
    while (pumps_ < pumps) changed_.wait(mu_);
  }
  int pumps() {
    const MutexLock lock(mu_);
    return pumps_;
  }

 private:
  Mutex mu_;
  CondVar changed_;
  int pumps_ ABSL_GUARDED_BY(mu_) = 0;
};

class SubscriptionHubTest : public testing::Test {
 protected:
  /// Long enough that only a prediction wakes a call.
  StreamingCalls calls_{std::chrono::hours(10)};
  SubscriptionHubs hubs_{calls_, PredictionBytes};
  const SharedStream street_ = Serve("street");
  const SharedStream yard_ = Serve("yard");
};

TEST_F(SubscriptionHubTest, StreamsHaveAHubEachWhileTheyHaveSubscriptions) {
  const std::shared_ptr<SubscriptionHub> street = hubs_.Of(street_);
  EXPECT_EQ(hubs_.Of(street_), street);
  EXPECT_NE(hubs_.Of(yard_), street);
}

TEST_F(SubscriptionHubTest, APredictionPumpsOnlyTheCallsOfItsStream) {
  const auto street = hubs_.Of(street_);
  const auto yard = hubs_.Of(yard_);
  const std::vector<std::shared_ptr<CountedCall>> calls = {std::make_shared<CountedCall>(*street),
                                                           std::make_shared<CountedCall>(*street),
                                                           std::make_shared<CountedCall>(*yard)};
  for (const auto& call : calls) ASSERT_TRUE(calls_.Add(call).ok());
  constexpr int kPredictions = 10;
  for (int i = 1; i <= kPredictions; ++i) {
    street->ring().Publish(MovingDisc("street", i, 8, 6));
    for (const auto& call : {calls[0], calls[1]}) call->AwaitPumps(i);
  }
  // The thread has done the rounds before the last.
  EXPECT_EQ(calls[2]->pumps(), 0);
  yard->ring().Publish(MovingDisc("yard", 1, 8, 6));
  calls[2]->AwaitPumps(1);
  for (const auto& call : {calls[0], calls[1]}) EXPECT_EQ(call->pumps(), kPredictions);
  for (const auto& call : calls) calls_.Remove(*call);
}

TEST_F(SubscriptionHubTest, WhatSubscribersShareIsMadeOnce) {
  const auto hub = hubs_.Of(street_);
  Prediction prediction;
  prediction.stream = "street";
  prediction.model.flow = std::make_shared<const std::vector<float>>(std::vector<float>{1, 2});
  prediction.model.width = prediction.model.height = 1;
  const grpc::Slice first = hub->Bytes(1, prediction, {});
  EXPECT_EQ(hub->Bytes(1, prediction, {}).begin(), first.begin());
  EXPECT_NE(hub->Bytes(1, prediction, {.flow = false}).size(), first.size());
  EXPECT_NE(hub->Bytes(2, prediction, {}).begin(), first.begin());
  EXPECT_EQ(street_->subscribers.made, 3u);
  v1::Prediction message;
  ASSERT_TRUE(message.ParseFromArray(first.begin(), static_cast<int>(first.size())));
  EXPECT_EQ(message.stream(), "street");
}

// Of any form, with a message that cannot be made once.
TEST_F(SubscriptionHubTest, HoldsWhatItsFormMakes) {
  static int tries;
  tries = 0;
  SubscriptionHub hub(street_, calls_,
                      [](const Prediction& prediction, const PredictionParts& /*parts*/) {
                        if (++tries == 1) throw std::bad_alloc();
                        return prediction.stream;
                      });
  Prediction prediction;
  prediction.stream = "street";
  EXPECT_THROW(static_cast<void>(hub.Bytes(1, prediction, {})), std::bad_alloc);
  for (int reader = 0; reader < 3; ++reader) {
    const grpc::Slice bytes = hub.Bytes(1, prediction, {});
    EXPECT_EQ(std::string(bytes.begin(), bytes.end()), "street");
  }
  EXPECT_EQ(tries, 2);
  EXPECT_EQ(street_->subscribers.made, 1u);
}

}  // namespace
}  // namespace millrace::service
