#include "service/api/stream_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/service/support/grpc_fixture.h"
#include "tests/service/support/planner_said.h"

namespace millrace::service {
namespace {

using ::testing::ElementsAre;

class StreamServiceTest : public GrpcFixture {
 protected:
  v1::Stream Get(const std::string& name) {
    grpc::ClientContext context;
    v1::GetStreamRequest request;
    request.set_stream(name);
    v1::GetStreamResponse response;
    EXPECT_TRUE(stub_->GetStream(&context, request, &response).ok());
    return response.stream();
  }

  std::unique_ptr<v1::StreamService::Stub> stub_ = v1::StreamService::NewStub(channel_);
};

TEST_F(StreamServiceTest, ListsStreamsInOrder) {
  grpc::ClientContext context;
  v1::ListStreamsResponse response;
  ASSERT_TRUE(stub_->ListStreams(&context, {}, &response).ok());
  ASSERT_EQ(response.streams_size(), 2);
  EXPECT_EQ(response.streams(0).name(), "street");
  EXPECT_EQ(response.streams(1).name(), "yard");
}

TEST_F(StreamServiceTest, TellsWhatBecameOfEveryFrame) {
  Film(street_, 3);
  street_.source->Push();
  street_.learner->WaitForAdmitted(3);

  const v1::Stream stream = Get("street");
  EXPECT_EQ(stream.uri(), "rtsp://***@camera/1");
  EXPECT_EQ(stream.source_state(), v1::SOURCE_STATE_STREAMING);
  EXPECT_EQ(stream.learner_state(), v1::LEARNER_STATE_LEARNING);
  EXPECT_EQ(stream.camera().width(), 768);
  EXPECT_EQ(stream.camera_frames_per_second(), 10);
  EXPECT_EQ(stream.frames().received(), 4u);
  EXPECT_EQ(stream.frames().predicted(), 2u);
  EXPECT_EQ(stream.frames().in_flight(), 1u);
  ASSERT_EQ(stream.frames().dropped_size(), 7);
  EXPECT_EQ(stream.frames().dropped(0).reason(), v1::DROP_REASON_QUEUE_FULL);
  EXPECT_EQ(stream.frames().dropped(1).reason(), v1::DROP_REASON_NO_PREDECESSOR);
  EXPECT_EQ(stream.frames().dropped(1).frames(), 1u);
  EXPECT_EQ(stream.frames().dropped(4).reason(), v1::DROP_REASON_SHUTDOWN);
}

TEST_F(StreamServiceTest, TellsScheduleStagesAndUpdates) {
  Film(street_, 4);
  const v1::Stream stream = Get("street");
  EXPECT_DOUBLE_EQ(stream.loss_no_motion(), 2 * stream.loss());
  const v1::Schedule& schedule = stream.schedule();
  EXPECT_EQ(schedule.kind(), "one_f_one_b_star");
  EXPECT_EQ(schedule.input().width(), 4);
  EXPECT_EQ(schedule.frames_per_second(), 16);
  EXPECT_EQ(schedule.expected_delay().nanos(), 45'000'000);
  ASSERT_EQ(schedule.stages_size(), 2);
  EXPECT_THAT(schedule.stages(0).layers(), ElementsAre("features", "level 1"));
  EXPECT_EQ(schedule.stages(0).device(), "cpu:0");
  EXPECT_EQ(schedule.stages(0).backward_cost().nanos(), 40'000'000);
  EXPECT_EQ(schedule.stages(0).staleness(), 1);
  EXPECT_EQ(schedule.stages(1).updates(), 3);
  EXPECT_EQ(stream.overload().kind(), v1::OVERLOAD_KIND_NONE);
  EXPECT_EQ(stream.overload().remedy(), "");
  EXPECT_EQ(stream.promise().frames_per_second(), 10)
      << "of the 16 that it can do, as many as come";
  EXPECT_EQ(stream.promise().delay().nanos(), 45'000'000);
  EXPECT_TRUE(stream.promise().rate_kept());
  EXPECT_TRUE(stream.promise().delay_kept());
}

TEST_F(StreamServiceTest, TellsWhatThePlannerSaidAndSaysNow) {
  EXPECT_FALSE(Get("street").schedule().has_rate_plan());
  street_.learner->Describe(PlannerSaid);
  const v1::Schedule schedule = Get("street").schedule();
  EXPECT_EQ(schedule.update_every(), 4);
  EXPECT_EQ(schedule.rate_plan().frames_per_second(), 10);
  EXPECT_FALSE(schedule.rate_plan().holds());
  EXPECT_EQ(schedule.rate_plan().expected_dropped_share(), 0.25);
  EXPECT_EQ(schedule.rate_plan().limit(), "layer 3 alone takes 62");
  EXPECT_EQ(schedule.rate_plan().times_switched(), 1);
  EXPECT_EQ(schedule.rate_plan().times_kept(), 2);
  EXPECT_EQ(schedule.rate_plan().replan_cause(), "stage 1 takes 80 ms a sample instead of 65");
}

TEST_F(StreamServiceTest, TellsWhyALearnerFailed) {
  street_.learner->Fail(absl::InternalError("out of memory"));
  street_.source->Push();
  street_.source->Push();
  while (street().Snapshot().learner.ok()) std::this_thread::yield();
  const v1::Stream stream = Get("street");
  EXPECT_EQ(stream.learner_state(), v1::LEARNER_STATE_FAILED);
  EXPECT_EQ(stream.learner_cause(), "stream 'street': out of memory");
}

TEST_F(StreamServiceTest, TellsThatAStreamHasEnded) {
  street_.source->End();
  while (!street().ended()) std::this_thread::yield();
  const v1::Stream stream = Get("street");
  EXPECT_EQ(stream.source_state(), v1::SOURCE_STATE_ENDED);
  EXPECT_EQ(stream.learner_state(), v1::LEARNER_STATE_ENDED);
}

TEST_F(StreamServiceTest, UnknownStreamIsNotFound) {
  grpc::ClientContext context;
  v1::GetStreamRequest request;
  request.set_stream("gate");
  v1::GetStreamResponse response;
  const grpc::Status status = stub_->GetStream(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "there is no stream 'gate'; there are 'street', 'yard'");
}

}  // namespace
}  // namespace millrace::service
