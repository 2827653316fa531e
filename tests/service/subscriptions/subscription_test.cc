// The options of a subscription, and its end.
#include "service/subscriptions/subscription.h"

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/service/support/error_details.h"
#include "tests/service/support/grpc_fixture.h"
#include "tests/service/support/subscriber.h"

namespace millrace::service {
namespace {

using ::testing::HasSubstr;

v1::SubscribeRequest Resuming(const std::string& run_id, std::uint64_t sequence) {
  v1::SubscribeRequest request = To("street");
  request.mutable_resume()->set_run_id(run_id);
  request.mutable_resume()->set_sequence(sequence);
  return request;
}

class SubscriptionTest : public GrpcFixture {
 protected:
  SubscriptionTest() = default;
  using GrpcFixture::GrpcFixture;

  /// How a call ends that gets no prediction.
  grpc::Status Refused(const v1::SubscribeRequest& request) {
    Subscriber subscriber(*channel_, request);
    EXPECT_FALSE(subscriber.Next());
    return subscriber.Finish();
  }
};

TEST_F(SubscriptionTest, EachResponseSaysWhereToGoOn) {
  Subscriber subscriber(*channel_, To("street"));
  Film(street_, 3);
  for (const std::uint64_t sequence : {1, 2}) {
    const auto response = subscriber.Next();
    EXPECT_EQ(response->run_id(), Served("street")->run_id);
    EXPECT_EQ(response->sequence(), sequence);
  }
}

TEST_F(SubscriptionTest, GoesOnWhereAnEarlierOneStopped) {
  Film(street_, 6);
  Subscriber subscriber(*channel_, Resuming(Served("street")->run_id, 3));
  for (const std::uint64_t sequence : {4, 5}) {
    const auto response = subscriber.Next();
    EXPECT_EQ(response->sequence(), sequence);
    EXPECT_EQ(response->dropped(), 0u);
    EXPECT_EQ(response->prediction().frame_number(), static_cast<std::int64_t>(sequence));
  }
}

TEST_F(SubscriptionTest, WhatIsNoLongerHeldIsCountedAsDropped) {
  Film(street_, 31);
  Subscriber subscriber(*channel_, Resuming(Served("street")->run_id, 0));
  const auto response = subscriber.Next();
  EXPECT_EQ(response->sequence(), 15u);
  EXPECT_EQ(response->dropped(), 14u);
}

TEST_F(SubscriptionTest, ARecorderThatResumesTooLateIsToldAndGoesOn) {
  Film(street_, 31);
  v1::SubscribeRequest request = Resuming(Served("street")->run_id, 0);
  request.set_policy(v1::DELIVERY_POLICY_LOSSLESS);
  Subscriber subscriber(*channel_, request);
  EXPECT_EQ(subscriber.Next()->dropped(), 14u);
  EXPECT_EQ(subscriber.Next()->dropped(), 0u);
}

TEST_F(SubscriptionTest, AnotherRunOrTheFutureCannotBeResumed) {
  Film(street_, 3);
  const grpc::Status other = Refused(Resuming("other", 1));
  EXPECT_EQ(other.error_code(), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(ReasonOf(other), "RESUME_POINT_GONE");
  EXPECT_EQ(DetailsOf(other).info.metadata().at("run_id"), Served("street")->run_id);
  EXPECT_EQ(Refused(Resuming(Served("street")->run_id, 3)).error_code(),
            grpc::StatusCode::OUT_OF_RANGE);
}

TEST_F(SubscriptionTest, WrongFieldsAreNamed) {
  v1::SubscribeRequest request = To("street", static_cast<v1::DeliveryPolicy>(17));
  request.set_depth(257);
  const grpc::Status status = Refused(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  const auto bad = DetailsOf(status).bad_request;
  ASSERT_EQ(bad.field_violations_size(), 2);
  EXPECT_EQ(bad.field_violations(0).field(), "policy");
  EXPECT_EQ(bad.field_violations(1).description(), "is 257; it must be 1 to 256, or 0 for 16");
}

TEST_F(SubscriptionTest, CarriesThePartsThatWereAskedFor) {
  v1::SubscribeRequest request = To("street");
  request.mutable_parts()->set_preview(true);
  Subscriber subscriber(*channel_, request);
  Film(street_, 2);
  const v1::Prediction prediction = subscriber.Next()->prediction();
  EXPECT_FALSE(prediction.has_flow());
  EXPECT_THAT(prediction.preview(), testing::StartsWith("\xff\xd8\xff")) << "JPEG";
}

TEST_F(SubscriptionTest, EndsUnavailableWhenTheStreamIsMadeAnew) {
  Subscriber subscriber(*channel_, To("street"));
  StreamConfig config = Served("street")->config();
  config.entry = R"({"name":"street","model":{"seed":1}})";
  config.effective = config.entry;
  ASSERT_TRUE(changes_.Update({.name = "street"}, config, /*allow_reset=*/true).ok());
  EXPECT_FALSE(subscriber.Next());
  const grpc::Status status = subscriber.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(status), "STREAM_CHANGED");
  EXPECT_TRUE(DetailsOf(status).has_retry);

  Subscriber again(*channel_, To("street"));
  Film(street_, 2);
  EXPECT_EQ(again.Next()->prediction().frame_number(), 1);
}

TEST_F(SubscriptionTest, EndsUnavailableWhenTheServerStops) {
  Subscriber subscriber(*channel_, To("street"));
  Film(street_, 2);
  streams_.Stop();
  EXPECT_TRUE(subscriber.Next()) << "what the ring holds comes first";
  EXPECT_FALSE(subscriber.Next());
  const grpc::Status status = subscriber.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(status), "SERVER_STOPS");
  EXPECT_TRUE(DetailsOf(status).has_retry);
}

TEST_F(SubscriptionTest, GoesOnWithAnotherSource) {
  Subscriber subscriber(*channel_, To("street"));
  Film(street_, 2);
  ASSERT_TRUE(street().ReplaceSource({.uri = "rtsp://camera/2"}).ok());
  street_.sources->back()->Push();
  street_.sources->back()->Push();
  street_.learner->Predict();
  EXPECT_EQ(subscriber.Next()->prediction().epoch(), 0);
  const auto response = subscriber.Next();
  EXPECT_EQ(response->prediction().epoch(), 1);
  EXPECT_EQ(response->dropped(), 0u);
}

TEST_F(SubscriptionTest, EndsWithOkWhenTheStreamIsDeleted) {
  Subscriber subscriber(*channel_, To("street"));
  Film(street_, 2);
  ASSERT_TRUE(changes_.Delete({.name = "street"}).ok());
  EXPECT_TRUE(subscriber.Next());
  EXPECT_FALSE(subscriber.Next());
  EXPECT_TRUE(subscriber.Finish().ok());
}

class OldConnectionTest : public SubscriptionTest {
 protected:
  OldConnectionTest()
      : SubscriptionTest(FakeStreamOptions(),
                         {.connection_age = std::chrono::milliseconds(200),
                          .connection_grace = std::chrono::milliseconds(100)}) {}
};

TEST_F(OldConnectionTest, EndsUnavailableAndASubscriberGoesOnWhereItWas) {
  Film(street_, 1);
  std::uint64_t sequence = 0;
  v1::SubscribeRequest request = To("street");
  for (int connection = 0; connection < 3; ++connection) {
    Subscriber subscriber(*NewChannel(), request);
    Film(street_, 2);
    while (const auto response = subscriber.Next()) {
      EXPECT_EQ(response->sequence(), ++sequence);
      EXPECT_EQ(response->dropped(), 0u);
    }
    EXPECT_EQ(subscriber.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
    request = Resuming(Served("street")->run_id, sequence);
  }
  EXPECT_EQ(sequence, 6u);
}

// Flows of 0.6 MB each: they soon fill the connection of a client that does not read.
class SlowSubscriptionTest : public SubscriptionTest {
 protected:
  SlowSubscriptionTest()
      : SubscriptionTest({.learner = {.width = 320, .height = 240}, .ring_capacity = 4},
                         {.stall_limit = std::chrono::milliseconds(300)}) {}
};

TEST_F(SlowSubscriptionTest, ARecorderLosesItsSubscriptionRatherThanAPrediction) {
  v1::SubscribeRequest request = To("street", v1::DELIVERY_POLICY_LOSSLESS);
  request.set_depth(8);
  Subscriber subscriber(*channel_, request);
  Film(street_, 60);
  std::uint64_t sequence = 0;
  while (const auto response = subscriber.Next()) {
    EXPECT_EQ(response->sequence(), ++sequence);
    EXPECT_EQ(response->dropped_total(), 0u);
  }
  const grpc::Status status = subscriber.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(status), "SLOW_SUBSCRIBER");
  EXPECT_THAT(status.error_message(), HasSubstr("fell behind by more than its depth of 8"));
  EXPECT_EQ(subscribers().cut_off, 1u);
}

TEST_F(SlowSubscriptionTest, ADeepQueueHoldsWhatTheRingAloneWouldNot) {
  v1::SubscribeRequest request = To("street", v1::DELIVERY_POLICY_LOSSLESS);
  request.set_depth(64);
  Subscriber subscriber(*channel_, request);
  Film(street_, 41);
  for (std::uint64_t sequence = 1; sequence <= 40; ++sequence) {
    const auto response = subscriber.Next();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->sequence(), sequence);
  }
}

TEST_F(SlowSubscriptionTest, OneThatTakesNothingIsLetGoAndToldWhy) {
  Subscriber frozen(*channel_, To("street"));
  const auto own = NewChannel();
  Subscriber quick(*own, To("street"));
  Film(street_, 1);
  for (int i = 0; i < 40; ++i) {
    Film(street_, 1);
    ASSERT_TRUE(quick.Next());
  }
  while (subscribers().cut_off == 0) std::this_thread::yield();
  Film(street_, 1);
  EXPECT_TRUE(quick.Next()) << "others are not harmed";

  while (frozen.Next()) {
  }
  const grpc::Status status = frozen.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(status), "SLOW_SUBSCRIBER");
  EXPECT_THAT(status.error_message(), HasSubstr("took nothing for 0.3 s"));
  while (subscribers().active > 1) std::this_thread::yield();
}

TEST_F(SlowSubscriptionTest, WhatWasHeldForOneThatIsLetGoIsFreedAndItsCallEnds) {
  v1::SubscribeRequest request = To("street");
  request.set_depth(64);
  Subscriber frozen(*channel_, request);
  Film(street_, 60);
  while (subscribers().cut_off == 0) std::this_thread::yield();
  Film(street_, 1);
  PredictionRing::Cursor oldest = 0;
  const auto held = street().ring().Read(oldest, {.newest = false, .depth = 64});
  EXPECT_EQ(held.missed, 60u - 4u) << "the ring holds its own 4 again";
  // It never reads again, nor goes away.
  while (subscribers().active > 0) std::this_thread::yield();
}

TEST_F(SubscriptionTest, DepthIsBoundedByWhatItWouldKeepInMemory) {
  street_.learner->Describe(
      [](pipeline::LearnerDescription& learner) { learner.width = learner.height = 2048; });
  v1::SubscribeRequest request = To("street");
  request.set_depth(17);
  const grpc::Status status = Refused(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(),
              HasSubstr("is 17; it must be 1 to 16 with pictures of this size"));
  request.set_depth(16);
  Subscriber subscriber(*channel_, request);
  EXPECT_EQ(subscribers().active, 1u);
  subscriber.Cancel();
  EXPECT_EQ(subscriber.Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(SubscriptionTest, OneTooManyIsRefusedAndOthersAreNotHarmed) {
  std::vector<std::unique_ptr<Subscriber>> all;
  for (std::size_t i = 0; i < StreamingCalls::kMax; ++i) {
    all.push_back(std::make_unique<Subscriber>(*channel_, To("street")));
  }
  const grpc::Status status = Refused(To("street"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(status), "TOO_MANY_SUBSCRIBERS");
  EXPECT_EQ(subscribers().active, StreamingCalls::kMax);
  Film(street_, 2);
  for (const auto& subscriber : all) EXPECT_TRUE(subscriber->Next());
  all.pop_back();
  while (subscribers().active == StreamingCalls::kMax) std::this_thread::yield();
  Subscriber another(*channel_, To("street"));
  Film(street_, 1);
  EXPECT_TRUE(another.Next());
}

TEST_F(SubscriptionTest, WhatSubscribersAreSentIsMadeOnceForAllWhoAskForTheSameParts) {
  std::vector<std::unique_ptr<Subscriber>> subscribers_of_flow;
  for (int i = 0; i < 3; ++i) {
    subscribers_of_flow.push_back(std::make_unique<Subscriber>(*channel_, To("street")));
  }
  v1::SubscribeRequest request = To("street");
  request.mutable_parts()->set_preview(true);
  Subscriber of_preview(*channel_, request);
  Film(street_, 1);
  for (std::uint64_t prediction = 1; prediction <= 5; ++prediction) {
    Film(street_, 1);
    for (const auto& subscriber : subscribers_of_flow) {
      EXPECT_TRUE(subscriber->Next()->prediction().has_flow());
    }
    EXPECT_FALSE(of_preview.Next()->prediction().has_flow());
    EXPECT_EQ(subscribers().made, 2 * prediction);
  }
}

}  // namespace
}  // namespace millrace::service
