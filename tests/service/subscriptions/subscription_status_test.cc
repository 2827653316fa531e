// Messages to subscribers while no prediction comes, with a real gRPC server and a fake clock.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "service/access/admission.h"
#include "service/api/prediction_service.h"
#include "tests/service/support/error_details.h"
#include "tests/service/support/fake_learner.h"
#include "tests/service/support/fake_source.h"
#include "tests/service/support/own_connection.h"
#include "tests/service/support/subscriber.h"

namespace millrace::service {
namespace {

using ingest::SourceState;

/// A camera that goes away and comes back on request.
class Camera final : public ingest::Source {
 public:
  Camera(const ingest::SourceOptions& options, const Clock& clock)
      : frames_(Silent(options), clock), on_state_(options.on_state) {
    Become(SourceState::kConnecting);
  }

  ingest::FrameQueue& queue() override { return frames_.queue(); }
  ingest::SourceStatus status() const override {
    const MutexLock lock(mu_);
    return status_;
  }
  void Stop() override { frames_.Stop(); }

  void Become(SourceState state, const absl::Status& cause = absl::OkStatus())
      ABSL_LOCKS_EXCLUDED(mu_) {
    {
      const MutexLock lock(mu_);
      status_.state = state;
      status_.cause = cause;
    }
    on_state_(state, cause);
  }
  void Push() { frames_.Push(); }
  void End() {
    Become(SourceState::kEnded);
    frames_.End();
  }

 private:
  static ingest::SourceOptions Silent(ingest::SourceOptions options) {
    options.on_state = {};
    return options;
  }

  FakeSource frames_;
  const std::function<void(SourceState, const absl::Status&)> on_state_;
  mutable Mutex mu_;
  ingest::SourceStatus status_ ABSL_GUARDED_BY(mu_);
};

const absl::Status kNoRoute = absl::UnavailableError("rtsp://***@yard/1: no route to host");

/// Serves one stream, "yard".
class StreamStatusTest : public testing::Test {
 protected:
  StreamStatusTest() {
    events_.Listen([this] { calls_.WakeAll(); });
    const StreamEventLog::Incarnation incarnation = events_.Begin("yard");
    auto started = CameraStream::Start(Options(incarnation));
    MILLRACE_CHECK(started.ok());
    auto record = std::make_shared<StreamRecord>(MonotonicClock(), std::chrono::nanoseconds(0));
    served_ = std::make_shared<ServedStream>(record, *std::move(started), incarnation);
    MILLRACE_CHECK(streams_.Add(served_).ok());
    events_.Happened(incarnation, StreamEvent::Kind::kCreated);
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    channel_ = OwnConnection(port_);
  }
  ~StreamStatusTest() override {
    streams_.Stop();
    server_->Shutdown(std::chrono::system_clock::now());
    events_.Listen(nullptr);
  }

  static v1::SubscribeRequest Asking() {
    v1::SubscribeRequest request = To("yard");
    request.set_status(true);
    return request;
  }

  void Film(int frames) {
    for (int i = 0; i < frames; ++i) {
      camera_->Push();
      if (filmed_++ > 0) learner_->Predict();
    }
  }
  void Pass(std::chrono::nanoseconds time) {
    clock_.Advance(time);
    calls_.WakeAll();
  }

  FakeClock clock_{std::chrono::hours(1)};
  StreamEventLog events_;
  StreamRegistry streams_;
  Camera* camera_ = nullptr;
  FakeLearner* learner_ = nullptr;
  SharedStream served_;
  std::unique_ptr<const Admission> admission_ = *Admission::Make({});
  CallThread questions_{{}};
  StreamingCalls calls_;
  PredictionService service_{{.streams = streams_,
                              .events = events_,
                              .calls = calls_,
                              .questions = questions_,
                              .admission = *admission_,
                              .clock = clock_}};
  int port_ = 0;
  int filmed_ = 0;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;

 private:
  CameraStream::Options Options(StreamEventLog::Incarnation incarnation) {
    CameraStream::Options options;
    options.config.name = "yard";
    options.config.source = {
        .uri = "rtsp://user:secret@yard/1", .width = 4, .height = 2, .queue_capacity = 64};
    options.clock = &clock_;
    options.make_learner =
        [this](
            const StreamConfig&, pipeline::OnPrediction call,
            const pipeline::LearnerHooks&) -> absl::StatusOr<std::unique_ptr<pipeline::Learner>> {
      auto learner = std::make_unique<FakeLearner>(FakeLearner::Options(), std::move(call));
      learner_ = learner.get();
      return learner;
    };
    options.open_source =
        [this](
            const ingest::SourceOptions& asked) -> absl::StatusOr<std::unique_ptr<ingest::Source>> {
      auto camera = std::make_unique<Camera>(asked, clock_);
      camera_ = camera.get();
      return camera;
    };
    options.on_source_state = [this, incarnation](auto state, const absl::Status& cause) {
      events_.SourceIs(incarnation, state, cause);
    };
    options.on_learner_state = [this, incarnation](auto state, const absl::Status& cause) {
      events_.LearnerIs(incarnation, state, cause);
    };
    return options;
  }
};

TEST_F(StreamStatusTest, IsSaidAtOnceOfACameraThatIsAway) {
  camera_->Become(SourceState::kBackingOff, kNoRoute);
  Subscriber subscriber(*channel_, Asking());
  const auto first = subscriber.Next();
  ASSERT_TRUE(first);
  EXPECT_FALSE(first->has_prediction());
  EXPECT_EQ(first->status().source_state(), v1::SOURCE_STATE_BACKING_OFF);
  EXPECT_EQ(first->status().source_cause(), "rtsp://***@yard/1: no route to host");
  EXPECT_EQ(first->status().learner_state(), v1::LEARNER_STATE_LEARNING);
  EXPECT_FALSE(first->status().has_prediction_age()) << "there was no prediction yet";
}

TEST_F(StreamStatusTest, IsSaidAtEachChange) {
  Subscriber subscriber(*channel_, Asking());
  EXPECT_EQ(subscriber.Next()->status().source_state(), v1::SOURCE_STATE_CONNECTING);
  camera_->Become(SourceState::kBackingOff, kNoRoute);
  EXPECT_EQ(subscriber.Next()->status().source_state(), v1::SOURCE_STATE_BACKING_OFF);
  camera_->Become(SourceState::kBackingOff, absl::UnavailableError("the camera refuses"));
  EXPECT_EQ(subscriber.Next()->status().source_cause(), "the camera refuses");
  camera_->Become(SourceState::kStreaming);
  EXPECT_EQ(subscriber.Next()->status().source_state(), v1::SOURCE_STATE_STREAMING);
  ASSERT_TRUE(served_->stream->SetMode(LearnerState::kPaused).ok());
  EXPECT_EQ(subscriber.Next()->status().learner_state(), v1::LEARNER_STATE_PAUSED);
}

TEST_F(StreamStatusTest, IsSaidAgainAfterTenSecondsWithoutAPrediction) {
  camera_->Become(SourceState::kStreaming);
  Film(2);
  Subscriber subscriber(*channel_, Asking());
  EXPECT_EQ(subscriber.Next()->status().source_state(), v1::SOURCE_STATE_STREAMING);
  for (int i = 0; i < 3; ++i) {
    Pass(std::chrono::seconds(10));
    const auto again = subscriber.Next();
    ASSERT_TRUE(again);
    EXPECT_EQ(again->status().source_state(), v1::SOURCE_STATE_STREAMING);
    EXPECT_TRUE(again->status().has_prediction_age());
  }
}

TEST_F(StreamStatusTest, NothingIsSaidWhilePredictionsCome) {
  camera_->Become(SourceState::kStreaming);
  Subscriber subscriber(*channel_, Asking());
  EXPECT_TRUE(subscriber.Next()->has_status());
  Film(1);
  for (int number = 1; number < 20; ++number) {
    Pass(std::chrono::seconds(5));
    Film(1);
    const auto response = subscriber.Next();
    ASSERT_TRUE(response);
    ASSERT_TRUE(response->has_prediction()) << response->ShortDebugString();
    EXPECT_EQ(response->prediction().frame_number(), number);
  }
}

TEST_F(StreamStatusTest, CountsAsNoPredictionAndKeepsThePlace) {
  camera_->Become(SourceState::kStreaming);
  Film(3);  // Numbers 1 and 2, before the subscription.
  Subscriber subscriber(*channel_, Asking());
  EXPECT_EQ(subscriber.Next()->sequence(), 2u);
  Film(1);
  EXPECT_EQ(subscriber.Next()->sequence(), 3u);
  camera_->Become(SourceState::kBackingOff, kNoRoute);
  const auto status = subscriber.Next();
  EXPECT_EQ(status->sequence(), 3u);
  EXPECT_EQ(status->dropped_total(), 0u);
  EXPECT_EQ(status->run_id(), served_->run_id);
  camera_->Become(SourceState::kStreaming);
  EXPECT_TRUE(subscriber.Next()->has_status());
  Film(1);
  const auto next = subscriber.Next();
  EXPECT_EQ(next->sequence(), 4u);
  EXPECT_EQ(next->dropped(), 0u);
  camera_->Become(SourceState::kStalled);
  EXPECT_TRUE(subscriber.Next()->has_status());  // Earlier messages are counted by now.
  EXPECT_EQ(served_->subscribers.Read().sent, 2u);
}

TEST_F(StreamStatusTest, IsAPlaceToResumeFrom) {
  camera_->Become(SourceState::kStreaming);
  v1::SubscribeRequest request = Asking();
  {
    Subscriber subscriber(*channel_, request);
    const auto status = subscriber.Next();
    request.mutable_resume()->set_run_id(status->run_id());
    request.mutable_resume()->set_sequence(status->sequence());
    subscriber.Cancel();
  }
  Film(3);
  Subscriber subscriber(*channel_, request);
  EXPECT_TRUE(subscriber.Next()->has_status());
  for (const std::uint64_t sequence : {1, 2}) {
    const auto response = subscriber.Next();
    EXPECT_EQ(response->sequence(), sequence);
    EXPECT_EQ(response->dropped_total(), 0u);
  }
}

TEST_F(StreamStatusTest, IsSaidToNobodyWhoDoesNotAskForIt) {
  camera_->Become(SourceState::kBackingOff, kNoRoute);
  Subscriber subscriber(*channel_, To("yard"));
  camera_->Become(SourceState::kStreaming);
  Pass(std::chrono::seconds(60));
  Film(2);
  const auto first = subscriber.Next();
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->has_prediction());
  EXPECT_FALSE(first->has_status());
}

TEST_F(StreamStatusTest, IsSaidBeforeTheEnd) {
  camera_->Become(SourceState::kStreaming);
  Subscriber subscriber(*channel_, Asking());
  EXPECT_TRUE(subscriber.Next()->has_status());
  camera_->End();
  std::optional<v1::StreamStatus> last;
  while (const auto response = subscriber.Next()) last = response->status();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->source_state(), v1::SOURCE_STATE_ENDED);
  EXPECT_TRUE(subscriber.Finish().ok());
}

TEST_F(StreamStatusTest, ComesAlongWithTheNewestPrediction) {
  const auto stub = v1::PredictionService::NewStub(channel_);
  v1::GetLatestRequest request;
  v1::GetLatestResponse response;
  camera_->Become(SourceState::kBackingOff, kNoRoute);
  grpc::ClientContext before;
  const grpc::Status none = stub->GetLatest(&before, request, &response);
  EXPECT_EQ(
      none.error_message(),
      "stream 'yard' has no prediction yet, source backing off: rtsp://***@yard/1: no route to "
      "host; try again");
  EXPECT_EQ(ReasonOf(none), "NO_PREDICTION_YET");
  Film(2);
  grpc::ClientContext after;
  ASSERT_TRUE(stub->GetLatest(&after, request, &response).ok());
  EXPECT_EQ(response.prediction().frame_number(), 1);
  EXPECT_EQ(response.status().source_state(), v1::SOURCE_STATE_BACKING_OFF);
  EXPECT_TRUE(response.status().has_prediction_age());
  EXPECT_LT(response.status().prediction_age().seconds(), 600);
}

}  // namespace
}  // namespace millrace::service
