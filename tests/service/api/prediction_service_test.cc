#include "service/api/prediction_service.h"

#include <cstring>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/service/support/error_details.h"
#include "tests/service/support/grpc_fixture.h"
#include "tests/service/support/subscriber.h"

namespace millrace::service {
namespace {

using pipeline::SkipReason;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::UnorderedElementsAre;

std::vector<float> Floats(const v1::Tensor& tensor) {
  std::vector<float> floats(tensor.data().size() / sizeof(float));
  std::memcpy(floats.data(), tensor.data().data(), tensor.data().size());
  return floats;
}

class PredictionServiceTest : public GrpcFixture {
 protected:
  void WaitForNoSubscribers() {
    while (subscribers().active > 0) std::this_thread::yield();
  }

  std::unique_ptr<v1::PredictionService::Stub> stub_ = v1::PredictionService::NewStub(channel_);
};

TEST_F(PredictionServiceTest, SubscriberGetsEveryPredictionWithItsFlow) {
  Subscriber subscriber(*channel_, To("street"));
  Film(street_, 2);

  const auto response = subscriber.Next();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->dropped(), 0u);
  const v1::Prediction& prediction = response->prediction();
  EXPECT_EQ(prediction.stream(), "street");
  EXPECT_EQ(prediction.frame_number(), 1);
  EXPECT_EQ(prediction.epoch(), 0);
  EXPECT_FALSE(prediction.has_camera_time());
  EXPECT_GT(prediction.arrival_time().seconds(), 1'600'000'000);
  EXPECT_EQ(prediction.loss(), 1);
  EXPECT_EQ(prediction.loss_no_motion(), 2);
  EXPECT_EQ(prediction.update_count(), 0);
  EXPECT_EQ(prediction.flags_size(), 0);
  EXPECT_TRUE(prediction.learned_from());
  EXPECT_EQ(prediction.grid().width(), 4);
  EXPECT_EQ(prediction.grid().height(), 2);
  EXPECT_EQ(prediction.camera().width(), 768);
  EXPECT_THAT(prediction.flow().shape(), ElementsAre(2, 4, 2));
  EXPECT_EQ(prediction.flow().data_type(), v1::DATA_TYPE_FLOAT32);
  EXPECT_THAT(Floats(prediction.flow()), testing::Each(0));
  EXPECT_EQ(Floats(prediction.flow()).size(), 16u);
}

// Two pixels: what is dark moves to the right, where a bright border was.
Prediction Foretelling() {
  Prediction prediction;
  prediction.stream = "street";
  prediction.model.width = 2;
  prediction.model.height = 1;
  prediction.model.flow =
      std::make_shared<const std::vector<float>>(std::vector<float>{1, 0, 1, 0});
  prediction.next_frame = true;
  prediction.picture =
      std::make_shared<const ingest::Picture>(ingest::Picture{2, 1, {1, 2, 3, 200, 210, 220}});
  return prediction;
}

TEST_F(PredictionServiceTest, ThePictureToComeIsSentUnlessItIsNotWanted) {
  street().ring().Publish(std::make_shared<const Prediction>(Foretelling()));
  v1::GetLatestRequest request;
  request.set_stream("street");
  request.mutable_parts()->set_next_picture(true);
  v1::GetLatestResponse response;
  grpc::ClientContext first;
  ASSERT_TRUE(stub_->GetLatest(&first, request, &response).ok());
  const v1::Tensor& next = response.prediction().next_picture();
  EXPECT_THAT(next.shape(), ElementsAre(1, 2, 3));
  EXPECT_EQ(next.data_type(), v1::DATA_TYPE_UINT8);
  EXPECT_EQ(next.data(), std::string("\1\2\3\1\2\3"));
  EXPECT_FALSE(response.prediction().has_flow());

  request.clear_parts();
  request.mutable_parts()->set_flow(true);
  grpc::ClientContext second;
  ASSERT_TRUE(stub_->GetLatest(&second, request, &response).ok());
  EXPECT_FALSE(response.prediction().has_next_picture());
}

TEST_F(PredictionServiceTest, FlagsWhatIsNotFiniteAndTellsDelays) {
  Subscriber subscriber(*channel_, To("street"));
  street_.source->Push();
  street_.source->Push();
  street_.source->Push();
  street_.learner->PredictNonFinite();
  street_.clock->Advance(std::chrono::milliseconds(1250));
  street_.learner->Predict();

  const v1::Prediction prediction = subscriber.Next()->prediction();
  EXPECT_THAT(prediction.flags(), ElementsAre(v1::PREDICTION_FLAG_NON_FINITE));
  EXPECT_FALSE(prediction.learned_from());
  EXPECT_EQ(prediction.delay().seconds(), 1);
  EXPECT_EQ(prediction.delay().nanos(), 250'000'000);
  EXPECT_EQ(prediction.delay_frames(), 1);
}

struct Skip {
  SkipReason reason;
  /// What the wire says, of a prediction that is finite unless that is the reason.
  std::vector<v1::PredictionFlag> flags;
};

/// Every reason, in order.
std::vector<Skip> AllSkips() {
  return {{SkipReason::kNone, {}},
          {SkipReason::kRepeated, {v1::PREDICTION_FLAG_REPEATED_PICTURE}},
          {SkipReason::kFrozen, {v1::PREDICTION_FLAG_FROZEN_PICTURE}},
          {SkipReason::kCut, {v1::PREDICTION_FLAG_CUT}},
          {SkipReason::kNonFinite, {v1::PREDICTION_FLAG_NON_FINITE}},
          {SkipReason::kLeavesPicture, {v1::PREDICTION_FLAG_IMPLAUSIBLE}},
          {SkipReason::kTooFast, {v1::PREDICTION_FLAG_IMPLAUSIBLE}},
          {SkipReason::kRate, {}},
          {SkipReason::kPolicy, {}},
          {SkipReason::kUnlabelled, {}},
          {SkipReason::kHeld, {}}};
}

TEST_F(PredictionServiceTest, TellsWhetherAndWhyNotAFrameIsLearnedFrom) {
  Subscriber subscriber(*channel_, To("street"));
  Film(street_, 1);
  const std::vector<Skip> skips = AllSkips();
  ASSERT_EQ(skips.size(), static_cast<std::size_t>(pipeline::kSkipReasons));
  for (std::size_t i = 0; i < skips.size(); ++i) {
    const SkipReason reason = skips[i].reason;
    SCOPED_TRACE(pipeline::Name(reason));
    ASSERT_EQ(static_cast<std::size_t>(reason), i);
    street_.learner->ChangePredictions([=](pipeline::ModelPrediction& prediction) {
      prediction.skipped = reason;
      prediction.finite = reason != SkipReason::kNonFinite;
    });
    Film(street_, 1);
    const v1::Prediction prediction = subscriber.Next()->prediction();
    EXPECT_THAT(prediction.flags(), ElementsAreArray(skips[i].flags));
    EXPECT_EQ(prediction.learned_from(), reason == SkipReason::kNone);
  }
}

TEST_F(PredictionServiceTest, FlagsADriftOnAFrameThatIsLearnedFromToo) {
  Subscriber subscriber(*channel_, To("street"));
  street_.learner->ChangePredictions([](pipeline::ModelPrediction& p) { p.drift = true; });
  Film(street_, 2);
  const v1::Prediction prediction = subscriber.Next()->prediction();
  EXPECT_THAT(prediction.flags(), ElementsAre(v1::PREDICTION_FLAG_DRIFT));
  EXPECT_TRUE(prediction.learned_from());
}

TEST_F(PredictionServiceTest, FlagsTheFirstPredictionAfterAGapAndOfAnotherSize) {
  Subscriber subscriber(*channel_, To("street"));
  Film(street_, 2);
  EXPECT_THAT(subscriber.Next()->prediction().flags(), ElementsAre());
  street_.source->Push(ingest::NoPredecessor::kGap);
  Film(street_, 2);
  EXPECT_THAT(subscriber.Next()->prediction().flags(), ElementsAre(v1::PREDICTION_FLAG_AFTER_GAP));
  EXPECT_THAT(subscriber.Next()->prediction().flags(), ElementsAre());
  street_.source->ChangeCamera(640, 480);
  street_.source->Push();
  Film(street_, 1);
  EXPECT_THAT(subscriber.Next()->prediction().flags(), ElementsAre(v1::PREDICTION_FLAG_NEW_SIZE));
}

// The reason is the picture's, which comes first; that the flow is not finite is said all the same.
TEST_F(PredictionServiceTest, CarriesAllTheFlagsOfAPredictionOnceEach) {
  Subscriber subscriber(*channel_, To("street"));
  street_.learner->ChangePredictions([](pipeline::ModelPrediction& prediction) {
    prediction.skipped = SkipReason::kCut;
    prediction.finite = false;
    prediction.drift = true;
  });
  Film(street_, 2);
  const v1::Prediction prediction = subscriber.Next()->prediction();
  EXPECT_THAT(prediction.flags(),
              UnorderedElementsAre(v1::PREDICTION_FLAG_NON_FINITE, v1::PREDICTION_FLAG_CUT,
                                   v1::PREDICTION_FLAG_DRIFT));
  EXPECT_FALSE(prediction.learned_from());
}

TEST_F(PredictionServiceTest, OmitsTheFlowWhenAsked) {
  v1::SubscribeRequest request = To("street");
  request.mutable_parts();
  Subscriber subscriber(*channel_, request);
  Film(street_, 2);
  const v1::Prediction prediction = subscriber.Next()->prediction();
  EXPECT_FALSE(prediction.has_flow());
  EXPECT_EQ(prediction.grid().width(), 4);
}

TEST_F(PredictionServiceTest, SubscribersOfOneStreamGetNothingOfAnother) {
  Subscriber yard(*channel_, To("yard"));
  Film(street_, 3);
  Film(yard_, 2);
  EXPECT_EQ(yard.Next()->prediction().stream(), "yard");
}

TEST_F(PredictionServiceTest, UnknownStreamIsNotFoundAndNamesThoseThatAre) {
  Subscriber subscriber(*channel_, To("gate"));
  EXPECT_FALSE(subscriber.Next());
  const grpc::Status status = subscriber.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "there is no stream 'gate'; there are 'street', 'yard'");
}

TEST_F(PredictionServiceTest, StreamsEndEndsTheSubscriptionAfterItsLastPrediction) {
  Subscriber subscriber(*channel_, To("street"));
  Film(street_, 4);
  street_.source->End();
  for (int number = 1; number < 4; ++number) {
    const auto response = subscriber.Next();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->prediction().frame_number(), number);
  }
  EXPECT_FALSE(subscriber.Next());
  EXPECT_TRUE(subscriber.Finish().ok());
}

TEST_F(PredictionServiceTest, SubscribingAfterTheEndEndsAtOnce) {
  street_.source->End();
  while (!street().ring().closed()) std::this_thread::yield();
  Subscriber subscriber(*channel_, To("street"));
  EXPECT_FALSE(subscriber.Next());
  EXPECT_TRUE(subscriber.Finish().ok());
}

TEST_F(PredictionServiceTest, CancelledSubscriptionIsFreed) {
  Film(street_, 2);
  for (int i = 0; i < 20; ++i) {
    Subscriber idle(*channel_, To("street"));
    Subscriber busy(*channel_, To("street"));
    EXPECT_EQ(subscribers().active, 2u);
    Film(street_, 1);
    EXPECT_TRUE(busy.Next());
    idle.Cancel();
    busy.Cancel();
    EXPECT_EQ(idle.Finish().error_code(), grpc::StatusCode::CANCELLED);
    EXPECT_EQ(busy.Finish().error_code(), grpc::StatusCode::CANCELLED);
    WaitForNoSubscribers();
  }
}

TEST_F(PredictionServiceTest, LatestIsUnavailableBeforeTheFirst) {
  grpc::ClientContext context;
  v1::GetLatestRequest request;
  request.set_stream("street");
  v1::GetLatestResponse response;
  const grpc::Status status = stub_->GetLatest(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(status.error_message(), "stream 'street' has no prediction yet; try again");
  EXPECT_EQ(ReasonOf(status), "NO_PREDICTION_YET");
  EXPECT_TRUE(DetailsOf(status).has_retry);
}

TEST_F(PredictionServiceTest, LatestIsTheNewest) {
  Film(street_, 5);
  grpc::ClientContext context;
  v1::GetLatestRequest request;
  request.set_stream("street");
  v1::GetLatestResponse response;
  ASSERT_TRUE(stub_->GetLatest(&context, request, &response).ok());
  EXPECT_EQ(response.prediction().frame_number(), 4);
  EXPECT_THAT(Floats(response.prediction().flow()), testing::Each(3));
}

TEST_F(PredictionServiceTest, LatestOfAnUnknownStreamIsNotFound) {
  grpc::ClientContext context;
  v1::GetLatestRequest request;
  request.set_stream("gate");
  v1::GetLatestResponse response;
  EXPECT_EQ(stub_->GetLatest(&context, request, &response).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST_F(PredictionServiceTest, ShutdownCancelsASubscriberThatWouldWaitForEver) {
  Subscriber subscriber(*channel_, To("street"));
  server_->Shutdown(std::chrono::seconds(0));
  EXPECT_FALSE(subscriber.Next());
  EXPECT_FALSE(subscriber.Finish().ok());
  EXPECT_EQ(subscribers().active, 0u);
}

// Flows of 0.6 MB each: they soon fill the connection of a client that does not read.
class SlowSubscriberTest : public GrpcFixture {
 protected:
  SlowSubscriberTest()
      : GrpcFixture({.learner = {.width = 320, .height = 240}, .ring_capacity = 4}) {}

  /// Reads all that is left. Every number was delivered or counted as dropped, in order.
  static void ExpectAllAccountedFor(Subscriber& subscriber, std::uint64_t published,
                                    std::uint64_t& dropped) {
    std::uint64_t accounted = 0;
    dropped = 0;
    while (const auto response = subscriber.Next()) {
      dropped += response->dropped();
      accounted += response->dropped() + 1;
      ASSERT_EQ(response->dropped_total(), dropped);
      // Frame 0 has no prediction; frame n is the nth.
      ASSERT_EQ(response->prediction().frame_number(), static_cast<std::int64_t>(accounted));
    }
    EXPECT_EQ(accounted, published);
  }
};

TEST_F(SlowSubscriberTest, IsToldItsDropsAndSlowsNobody) {
  constexpr int kFrames = 120;
  const auto slow_channel = NewChannel();
  Subscriber every(*slow_channel, To("street", v1::DELIVERY_POLICY_DROP_OLDEST));
  Subscriber newest(*slow_channel, To("street", v1::DELIVERY_POLICY_LATEST));
  Subscriber quick(*channel_, To("street"));

  // The quick one has each prediction before the next is made. The slow ones read nothing, and all
  // predictions are made nevertheless.
  Film(street_, 1);
  for (int number = 1; number < kFrames; ++number) {
    Film(street_, 1);
    const auto response = quick.Next();
    ASSERT_TRUE(response);
    ASSERT_EQ(response->prediction().frame_number(), number);
    ASSERT_EQ(response->dropped_total(), 0u);
  }
  EXPECT_EQ(street().Snapshot().frames.predicted, static_cast<std::uint64_t>(kFrames - 1));
  street_.source->End();
  EXPECT_FALSE(quick.Next());

  std::uint64_t dropped_of_every = 0;
  std::uint64_t dropped_of_newest = 0;
  ExpectAllAccountedFor(every, kFrames - 1, dropped_of_every);
  ExpectAllAccountedFor(newest, kFrames - 1, dropped_of_newest);
  EXPECT_GT(dropped_of_every, 50u);
  EXPECT_GT(dropped_of_newest, 50u);
  EXPECT_TRUE(every.Finish().ok());
  EXPECT_TRUE(newest.Finish().ok());

  const SubscriberCounts counts = subscribers();
  EXPECT_EQ(counts.dropped, dropped_of_every + dropped_of_newest);
  EXPECT_EQ(counts.sent + counts.dropped, 3u * (kFrames - 1));
}

TEST_F(SlowSubscriberTest, CancelledInTheMiddleOfAWriteIsFreed) {
  Subscriber slow(*channel_, To("street"));
  Film(street_, 40);
  slow.Cancel();
  while (slow.Next()) {
  }
  EXPECT_EQ(slow.Finish().error_code(), grpc::StatusCode::CANCELLED);
  while (subscribers().active > 0) std::this_thread::yield();
}

TEST_F(SlowSubscriberTest, DoesNotHoldUpTheShutdown) {
  Subscriber slow(*channel_, To("street"));
  Film(street_, 40);
  streams_.Stop();
  server_->Shutdown(std::chrono::milliseconds(10));
  EXPECT_EQ(subscribers().active, 0u);
}

// Subscribers come, read, and go at any moment, while predictions are published.
TEST_F(PredictionServiceTest, SubscribersComeAndGoWhilePredictionsArePublished) {
  Film(street_, 1);
  std::vector<std::jthread> clients;
  for (int client = 0; client < 4; ++client) {
    clients.emplace_back([this, client] {
      for (int i = 0; i < 15; ++i) {
        Subscriber subscriber(*channel_, To("street"));
        for (int reads = (client + i) % 3; reads > 0 && subscriber.Next(); --reads) {
        }
        subscriber.Cancel();
        while (subscriber.Next()) {
        }
        EXPECT_FALSE(subscriber.Finish().ok());
      }
    });
  }
  std::atomic<bool> done = false;
  std::jthread camera([&] {
    while (!done) Film(street_, 1);
  });
  clients.clear();
  done = true;
  camera.join();
  WaitForNoSubscribers();
}

}  // namespace
}  // namespace millrace::service
