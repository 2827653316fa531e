// Frames that a client pushes, at a real server over real streams whose network the test is.
#include <grpcpp/grpcpp.h>
#include <poll.h>

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "ingest/open_source.h"
#include "millrace/v1/frame_service.grpc.pb.h"
#include "service/grpc_server.h"
#include "tests/service/error_details.h"
#include "tests/service/fake_learner.h"

namespace millrace::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr int kWidth = 4;
constexpr int kHeight = 2;

/// Looks every two milliseconds until `done`; for ever, until the test's own timeout.
void WaitUntil(const std::function<bool()>& done) {
  while (!done()) poll(nullptr, 0, 2);
}

/// The client's side of a call.
class Exchange {
 public:
  using Deadline = std::optional<std::chrono::system_clock::time_point>;

  explicit Exchange(const std::shared_ptr<grpc::Channel>& channel, const Deadline& deadline = {})
      : stub_(v1::FrameService::NewStub(channel)) {
    if (deadline) context_.set_deadline(*deadline);
    call_ = stub_->Push(&context_);
  }
  ~Exchange() {
    if (!ended_) context_.TryCancel();
    if (!ended_) End();
  }

  /// Takes the place in `stream` and waits until it has it, or the call has ended.
  void Begin(const std::string& stream) {
    v1::PushRequest request;
    request.set_stream(stream);
    call_->Write(request);
    call_->WaitForInitialMetadata();
  }

  bool Write(const v1::PushRequest& request) { return call_->Write(request); }
  bool Push(const std::string& id, std::optional<std::int64_t> second = {}) {
    return Write(Frame(id, kWidth, kHeight, second));
  }

  static v1::PushRequest Frame(const std::string& id, int width, int height,
                               std::optional<std::int64_t> second = {}) {
    v1::PushRequest request;
    v1::PushedFrame& frame = *request.mutable_frame();
    frame.set_id(id);
    if (second) frame.mutable_capture_time()->set_seconds(*second);
    frame.mutable_raw()->set_format(v1::PIXEL_FORMAT_RGB);
    frame.mutable_raw()->set_width(width);
    frame.mutable_raw()->set_height(height);
    frame.mutable_raw()->set_data(std::string(std::size_t{3} * width * height, '\x40'));
    return request;
  }

  v1::PushResponse Read() {
    v1::PushResponse response;
    EXPECT_TRUE(call_->Read(&response));
    return response;
  }
  /// All that come.
  std::vector<v1::PushResponse> ReadAll() {
    std::vector<v1::PushResponse> all;
    for (v1::PushResponse next; call_->Read(&next);) all.push_back(next);
    return all;
  }
  void Done() { call_->WritesDone(); }
  void Cancel() { context_.TryCancel(); }
  grpc::Status End() {
    ended_ = true;
    return call_->Finish();
  }

  grpc::ClientContext context_;

 private:
  const std::unique_ptr<v1::FrameService::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::PushRequest, v1::PushResponse>> call_;
  bool ended_ = false;
};

std::string Said(const v1::PushResponse& response) {
  switch (response.outcome_case()) {
    case v1::PushResponse::kPrediction:
      return absl::StrCat(response.id(), " predicted ", response.prediction().frame_number());
    case v1::PushResponse::kDropped:
      return absl::StrCat(response.id(), " ", v1::DropReason_Name(response.dropped()));
    case v1::PushResponse::kSkipped:
      return absl::StrCat(response.id(), " skipped");
    case v1::PushResponse::kRefused:
      return absl::StrCat(response.id(), " refused: ", response.refused().message());
    case v1::PushResponse::OUTCOME_NOT_SET:
      break;
  }
  return "nothing";
}

std::vector<std::string> Said(const std::vector<v1::PushResponse>& responses) {
  std::vector<std::string> said;
  for (const v1::PushResponse& response : responses) said.push_back(Said(response));
  return said;
}

/// The outcome of the frame `id`: what is dropped may overtake what is predicted.
v1::PushResponse Of(const std::string& id, const std::vector<v1::PushResponse>& responses) {
  const auto found = std::ranges::find(responses, id, &v1::PushResponse::id);
  return found != responses.end() ? *found : v1::PushResponse();
}

class FrameServiceTest : public testing::Test {
 protected:
  FrameServiceTest() : FrameServiceTest(GrpcServer::Options()) {}
  explicit FrameServiceTest(const GrpcServer::Options& options) {
    auto server = GrpcServer::Start(options, Api());
    MILLRACE_CHECK(server.ok());
    server_ = *std::move(server);
    channel_ = grpc::CreateChannel(absl::StrCat("127.0.0.1:", server_->port()),
                                   grpc::InsecureChannelCredentials());
  }

  /// Adds a stream "door", whose network is `learner_`.
  void AddStream(FakeLearner::Options learner = {.predicts = FakeLearner::Predicts::kAtOnce},
                 ingest::SourceOptions source = {.uri = "push:"}) {
    source.width = learner.width;
    source.height = learner.height;
    StreamConfig config;
    config.name = "door";
    config.source = source;
    learner_options_ = std::move(learner);
    MILLRACE_CHECK(control_.Create(config).ok());
  }

  [[nodiscard]] StreamApi Api() {
    return {.streams = &streams_,
            .events = &events_,
            .control = &control_,
            .liveness = &liveness_,
            .rules = &rules_};
  }

  [[nodiscard]] CameraStream& stream() { return *(*streams_.Find("door"))->stream; }
  [[nodiscard]] FrameCounts Counts() { return stream().Snapshot().frames; }

  FakeLearner::Options learner_options_;
  FakeLearner* learner_ = nullptr;
  StreamEvents events_;
  Streams streams_;
  StreamControl control_{{.streams = &streams_,
                          .events = &events_,
                          .start = [this](const StreamConfig& config) { return Start(config); },
                          .most_streams = 4}};
  FakeClock liveness_clock_;
  Liveness liveness_{streams_, liveness_clock_};
  ClientRules rules_;
  std::unique_ptr<GrpcServer> server_;
  std::shared_ptr<grpc::Channel> channel_;

 private:
  absl::StatusOr<SharedStream> Start(const StreamConfig& config) {
    CameraStream::Options options;
    options.config = config;
    options.open_source = [](const ingest::SourceOptions& source) {
      return ingest::OpenSource(source);
    };
    options.make_learner =
        [this](const pipeline::FlowLearnerOptions&,
               pipeline::OnPrediction call) -> absl::StatusOr<std::unique_ptr<pipeline::Learner>> {
      auto learner = std::make_unique<FakeLearner>(learner_options_, std::move(call));
      learner_ = learner.get();
      return learner;
    };
    auto stream = CameraStream::Start(std::move(options));
    if (!stream.ok()) return stream.status();
    auto record = std::make_shared<RunRecorder>(MonotonicClock(), std::chrono::nanoseconds(0));
    return std::make_shared<ServedStream>(std::move(record), *std::move(stream));
  }
};

TEST_F(FrameServiceTest, EachFrameGetsOneOutcome) {
  AddStream();
  Exchange client(channel_);
  client.Begin("door");
  for (int i = 0; i < 5; ++i) client.Push(absl::StrCat("f", i));
  client.Done();
  EXPECT_THAT(Said(client.ReadAll()),
              ElementsAre("f0 DROP_REASON_NO_PREDECESSOR", "f1 predicted 1", "f2 predicted 2",
                          "f3 predicted 3", "f4 predicted 4"));
  EXPECT_TRUE(client.End().ok());
  const FrameCounts counts = Counts();
  EXPECT_EQ(counts.received, 5u);
  EXPECT_EQ(counts.predicted, 4u);
  EXPECT_TRUE(counts.balanced());
}

TEST_F(FrameServiceTest, AHalfClosedCallWaitsForWhatIsDue) {
  AddStream({.predicts = FakeLearner::Predicts::kWhenTold});
  Exchange client(channel_);
  client.Begin("door");
  for (const char* id : {"a", "b", "c"}) client.Push(id);
  client.Done();
  EXPECT_EQ(Said(client.Read()), "a DROP_REASON_NO_PREDECESSOR");
  learner_->Predict(2);
  EXPECT_THAT(Said(client.ReadAll()), ElementsAre("b predicted 1", "c predicted 2"));
  EXPECT_TRUE(client.End().ok());
}

TEST_F(FrameServiceTest, OnePushesAtATimeAndTheNextGoesOn) {
  AddStream();
  {
    Exchange first(channel_);
    first.Begin("door");
    Exchange second(channel_);
    second.Begin("door");
    const grpc::Status refused = second.End();
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_EQ(ReasonOf(refused), "ALREADY_PUSHED");
    EXPECT_THAT(refused.error_message(), HasSubstr("another client pushes frames already"));
    first.Push("a");
    EXPECT_EQ(Said(first.Read()), "a DROP_REASON_NO_PREDECESSOR");
    EXPECT_EQ(stream().Snapshot().source.state, ingest::SourceState::kStreaming);
    first.Done();
    EXPECT_TRUE(first.End().ok());
  }
  const ingest::SourceStatus away = stream().Snapshot().source;
  EXPECT_EQ(away.state, ingest::SourceState::kWaiting);
  EXPECT_THAT(std::string(away.cause.message()), HasSubstr("no client pushes frames"));
  Exchange next(channel_);
  next.Begin("door");
  next.Push("b");
  next.Push("c");
  next.Done();
  const std::vector<v1::PushResponse> outcomes = next.ReadAll();
  EXPECT_THAT(Said(outcomes), ElementsAre("b DROP_REASON_NO_PREDECESSOR", "c predicted 2"));
  EXPECT_EQ(outcomes.back().prediction().epoch(), 1);
}

TEST_F(FrameServiceTest, ACancelledCallLeavesItsPlace) {
  AddStream({.predicts = FakeLearner::Predicts::kWhenTold});
  {
    Exchange first(channel_);
    first.Begin("door");
    first.Push("a");
    first.Push("b");
    learner_->WaitForAdmitted(1);
    first.Cancel();
    EXPECT_EQ(first.End().error_code(), grpc::StatusCode::CANCELLED);
  }
  WaitUntil([&] { return stream().Snapshot().source.state == ingest::SourceState::kWaiting; });
  learner_->Predict();
  WaitUntil([&] { return Counts().predicted == 1; });
  Exchange second(channel_);
  second.Begin("door");
  second.Push("c");
  EXPECT_EQ(Said(second.Read()), "c DROP_REASON_NO_PREDECESSOR");
}

/// Calls with a deadline.
class FrameDeadlineTest : public FrameServiceTest {
 protected:
  /// Pushes two frames to a stream of its own, and lets the deadline pass. Returns whether both had
  /// come by then, of which the first, "a", got its outcome.
  bool PushTwo(std::chrono::seconds limit) {
    if (streams_.Find("door").ok()) MILLRACE_CHECK(control_.Delete({.name = "door"}).ok());
    AddStream({.predicts = FakeLearner::Predicts::kWhenTold});
    Exchange client(channel_, std::chrono::system_clock::now() + limit);
    client.Begin("door");
    client.Push("a");
    client.Push("b");
    said_ = Said(client.ReadAll());
    EXPECT_EQ(client.End().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
    if (said_.empty()) return false;
    // The call has had its place, and when that is free again no frame comes any more.
    WaitUntil([&] { return stream().Snapshot().source.state == ingest::SourceState::kWaiting; });
    return Counts().received == 2;
  }

  std::vector<std::string> said_;
};

TEST_F(FrameDeadlineTest, ACallWhoseDeadlinePassesTakesNothingBack) {
  // As much time as this machine takes for it.
  for (std::chrono::seconds limit(1); !PushTwo(limit); limit *= 2) continue;
  EXPECT_THAT(said_, ElementsAre("a DROP_REASON_NO_PREDECESSOR"));
  learner_->Predict();
  WaitUntil([&] { return Counts().predicted == 1; });
  EXPECT_TRUE(Counts().balanced());
}

TEST_F(FrameServiceTest, WhatIsNoPictureIsRefusedAndTheCallGoesOn) {
  AddStream();
  Exchange client(channel_);
  client.Begin("door");
  v1::PushRequest cut = Exchange::Frame("cut", kWidth, kHeight);
  cut.mutable_frame()->mutable_raw()->mutable_data()->pop_back();
  client.Write(cut);
  v1::PushRequest none;
  none.mutable_frame()->set_id("none");
  client.Write(none);
  v1::PushRequest no_image;
  no_image.mutable_frame()->set_id("text");
  no_image.mutable_frame()->set_image("hello");
  client.Write(no_image);
  v1::PushRequest no_format = Exchange::Frame("form", kWidth, kHeight);
  no_format.mutable_frame()->mutable_raw()->clear_format();
  client.Write(no_format);
  v1::PushRequest labelled = Exchange::Frame("label", kWidth, kHeight);
  labelled.mutable_frame()->mutable_label()->set_class_number(1);
  client.Write(labelled);
  client.Write(Exchange::Frame("time", kWidth, kHeight, 1LL << 62));
  client.Push("good");
  client.Done();
  EXPECT_THAT(Said(client.ReadAll()),
              ElementsAre(HasSubstr("cut refused: the picture has 23 bytes"),
                          HasSubstr("none refused: there is no picture: set raw or image"),
                          HasSubstr("text refused: this is neither a JPEG nor a PNG image"),
                          HasSubstr("form refused: raw.format is 0"),
                          HasSubstr("label refused: stream 'door' learns without labels"),
                          HasSubstr("time refused: capture_time must be a time from 1970"),
                          "good DROP_REASON_NO_PREDECESSOR"));
  EXPECT_EQ(Counts().received, 1u);
}

TEST_F(FrameServiceTest, AFrameOfAnotherSizeIsScaledAndBeginsAnEpoch) {
  AddStream();
  Exchange client(channel_);
  client.Begin("door");
  client.Write(Exchange::Frame("a", 8, 6));
  client.Write(Exchange::Frame("b", 8, 6));
  std::vector<v1::PushResponse> outcomes = {client.Read(), client.Read()};
  client.Write(Exchange::Frame("c", 16, 12));
  outcomes.push_back(client.Read());
  EXPECT_THAT(Said(outcomes), UnorderedElementsAre("a DROP_REASON_NO_PREDECESSOR", "b predicted 1",
                                                   "c DROP_REASON_NO_PREDECESSOR"));
  EXPECT_EQ(Of("b", outcomes).prediction().camera().height(), 6);
}

TEST_F(FrameServiceTest, TimesOfCaptureTellGapsAndComeBack) {
  AddStream();
  Exchange client(channel_);
  client.Begin("door");
  for (const int second : {100, 101, 102, 103, 104, 110, 111}) {
    client.Push(absl::StrCat(second), second);
  }
  client.Push("timeless");
  client.Done();
  const std::vector<v1::PushResponse> outcomes = client.ReadAll();
  EXPECT_THAT(Said(outcomes),
              UnorderedElementsAre("100 DROP_REASON_NO_PREDECESSOR", "101 predicted 1",
                                   "102 predicted 2", "103 predicted 3", "104 predicted 4",
                                   "110 DROP_REASON_GAP", "111 predicted 6",
                                   HasSubstr("timeless refused: the first picture says")));
  EXPECT_EQ(Of("101", outcomes).prediction().camera_time().seconds(), 101);
  EXPECT_EQ(Of("110", outcomes).frame_number(), 5);
}

TEST_F(FrameServiceTest, ASlowModelHoldsTheClientBackAndLosesNothing) {
  AddStream({.capacity = 1, .predicts = FakeLearner::Predicts::kWhenTold},
            {.uri = "push:", .queue_capacity = 1});
  Exchange client(channel_);
  client.Begin("door");
  constexpr int kFrames = 50;
  std::jthread pushing([&] {
    for (int i = 0; i < kFrames; ++i) client.Push(absl::StrCat(i));
    client.Done();
  });
  auto outcomes = std::async(std::launch::async, [&] { return client.ReadAll(); });
  learner_->Predict(kFrames - 1);
  EXPECT_EQ(outcomes.get().size(), std::size_t{kFrames});
  EXPECT_TRUE(client.End().ok());
  EXPECT_EQ(Counts().predicted, std::uint64_t{kFrames - 1});
}

TEST_F(FrameServiceTest, AsACameraTheModelIsNotWaitedForAndWhatIsDroppedIsTold) {
  AddStream({.capacity = 1, .predicts = FakeLearner::Predicts::kWhenTold},
            {.uri = "push:", .as_camera = true, .queue_capacity = 1});
  Exchange client(channel_);
  client.Begin("door");
  client.Push("first");
  client.Push("held");
  EXPECT_EQ(Said(client.Read()), "first DROP_REASON_NO_PREDECESSOR");
  learner_->WaitForAdmitted(1);
  for (const char* id : {"a", "b", "c"}) client.Push(id);
  // The learner's room is taken, and the queue keeps the freshest.
  EXPECT_EQ(Said(client.Read()), "a DROP_REASON_QUEUE_FULL");
  EXPECT_EQ(Said(client.Read()), "b DROP_REASON_QUEUE_FULL");
  client.Done();
  learner_->Predict(2);
  EXPECT_THAT(Said(client.ReadAll()), ElementsAre("held predicted 1", "c predicted 4"));
  EXPECT_EQ(Counts().dropped[static_cast<int>(DropReason::kQueueFull)], 2u);
}

TEST_F(FrameServiceTest, WhereThereAreTooManyASecondTheyAreSkipped) {
  AddStream({.predicts = FakeLearner::Predicts::kAtOnce},
            {.uri = "push:", .max_frames_per_second = 1});
  Exchange client(channel_);
  client.Begin("door");
  std::vector<std::string> said;
  for (int i = 0; i < 4; ++i) {
    v1::PushRequest request = Exchange::Frame(absl::StrCat(i), kWidth, kHeight, 100 + i / 2);
    request.mutable_frame()->mutable_capture_time()->set_nanos(i % 2 * 500'000'000);
    client.Write(request);
    said.push_back(Said(client.Read()));
  }
  EXPECT_THAT(
      said, ElementsAre("0 DROP_REASON_NO_PREDECESSOR", "1 skipped", "2 predicted 1", "3 skipped"));
  EXPECT_EQ(Counts().received, 2u);
}

TEST_F(FrameServiceTest, AFailedModelRejectsWhatIsPushed) {
  AddStream({.predicts = FakeLearner::Predicts::kWhenTold});
  Exchange client(channel_);
  client.Begin("door");
  for (const char* id : {"a", "b"}) client.Push(id);
  EXPECT_EQ(Said(client.Read()), "a DROP_REASON_NO_PREDECESSOR");
  learner_->WaitForAdmitted(1);
  learner_->Fail(absl::InternalError("broken"));
  client.Push("c");
  client.Done();
  EXPECT_THAT(Said(client.ReadAll()),
              ElementsAre("b DROP_REASON_REJECTED", "c DROP_REASON_REJECTED"));
  EXPECT_TRUE(Counts().balanced());
}

TEST_F(FrameServiceTest, AStreamThatIsDeletedTellsWhatIsDueAndEndsTheCall) {
  AddStream({.predicts = FakeLearner::Predicts::kWhenTold});
  Exchange client(channel_);
  client.Begin("door");
  for (const char* id : {"a", "b"}) client.Push(id);
  learner_->WaitForAdmitted(1);
  ASSERT_TRUE(control_.Delete({.name = "door"}).ok());
  EXPECT_THAT(Said(client.ReadAll()), ElementsAre("a DROP_REASON_NO_PREDECESSOR", "b predicted 1"));
  const grpc::Status end = client.End();
  EXPECT_EQ(end.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(end), "SOURCE_GONE");
  EXPECT_THAT(end.error_message(), HasSubstr("stream 'door' takes no more frames"));
}

TEST_F(FrameServiceTest, ALabelComesWithItsFrame) {
  pipeline::LabelledTask task;
  task.outputs = 2;
  task.window = 4;
  AddStream({.predicts = FakeLearner::Predicts::kAtOnce, .labels = task});
  Exchange client(channel_);
  client.Begin("door");
  for (const int number : {1, 7}) {
    v1::PushRequest request = Exchange::Frame(absl::StrCat(number), kWidth, kHeight);
    request.mutable_frame()->mutable_label()->set_class_number(number);
    client.Write(request);
  }
  client.Push("bare");
  client.Done();
  const std::vector<v1::PushResponse> outcomes = client.ReadAll();
  EXPECT_THAT(Said(outcomes), ElementsAre("1 predicted 0", "7 predicted 1", "bare predicted 2"));
  EXPECT_EQ(outcomes[0].label().result(), v1::LABEL_RESULT_ADDED);
  EXPECT_EQ(outcomes[0].prediction().labelled(), 1);
  EXPECT_EQ(outcomes[1].label().result(), v1::LABEL_RESULT_INVALID);
  EXPECT_EQ(outcomes[1].label().frame_number(), 1);
  EXPECT_FALSE(outcomes[2].has_label());
}

TEST_F(FrameServiceTest, AnIdThatIsTooLongAndALabelOfAnotherFrameAreRefused) {
  pipeline::LabelledTask task;
  task.outputs = 2;
  task.window = 4;
  AddStream({.predicts = FakeLearner::Predicts::kAtOnce, .labels = task});
  Exchange client(channel_);
  client.Begin("door");
  client.Push(std::string(257, 'i'));
  v1::PushRequest other = Exchange::Frame("other", kWidth, kHeight);
  other.mutable_frame()->mutable_label()->set_frame_number(3);
  other.mutable_frame()->mutable_label()->set_class_number(1);
  client.Write(other);
  client.Push(std::string(256, 'i'));
  client.Done();
  EXPECT_THAT(Said(client.ReadAll()),
              ElementsAre(HasSubstr("i refused: the id has 257 bytes; it may have 256"),
                          HasSubstr("other refused: label.frame_number is set; leave it out"),
                          HasSubstr("i predicted 0")));
  EXPECT_TRUE(client.End().ok());
}

TEST_F(FrameServiceTest, OnlyAStreamOfPushedFramesTakesThem) {
  AddStream({}, {.uri = "test:"});
  const auto end_of = [&](const std::string& stream) {
    Exchange client(channel_);
    client.Begin(stream);
    return client.End();
  };
  const grpc::Status camera = end_of("door");
  EXPECT_EQ(camera.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonOf(camera), "NOT_PUSHED");
  EXPECT_THAT(camera.error_message(), HasSubstr("whose source.uri is push:"));
  EXPECT_EQ(end_of("nowhere").error_code(), grpc::StatusCode::NOT_FOUND);
  Exchange silent(channel_);
  silent.Done();
  EXPECT_TRUE(silent.End().ok());
}

TEST_F(FrameServiceTest, AFrameThatIsTooLargeIsToldTheLimit) {
  AddStream();
  Exchange client(channel_);
  client.Begin("door");
  client.Write(Exchange::Frame("huge", 4096, 4096));
  EXPECT_THAT(client.ReadAll(), testing::IsEmpty());
  const grpc::Status end = client.End();
  EXPECT_EQ(end.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(end.error_message(), HasSubstr("33554432"));
}

// Outcomes of 0.6 MB each: what a connection holds for a client that does not read is soon full.
class ImpatientFrameServiceTest : public FrameServiceTest {
 protected:
  ImpatientFrameServiceTest() : FrameServiceTest({.stall_limit = std::chrono::milliseconds(200)}) {}
};

TEST_F(ImpatientFrameServiceTest, AClientThatReadsNothingIsCutOffAndItsPlaceIsFree) {
  AddStream({.width = 320, .height = 240, .predicts = FakeLearner::Predicts::kAtOnce});
  grpc::ChannelArguments own_connection;
  own_connection.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  Exchange silent(grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", server_->port()),
                                            grpc::InsecureChannelCredentials(), own_connection));
  silent.Begin("door");
  while (silent.Push("unread")) continue;  // Until the call is over.
  Exchange next(channel_);
  next.Begin("door");
  next.Push("read");
  EXPECT_EQ(next.Read().id(), "read");
}

TEST_F(ImpatientFrameServiceTest, OneThatReadsOnFindsWhyItWasLetGo) {
  AddStream({.width = 320, .height = 240, .predicts = FakeLearner::Predicts::kAtOnce});
  grpc::ChannelArguments own_connection;
  own_connection.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  Exchange silent(grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", server_->port()),
                                            grpc::InsecureChannelCredentials(), own_connection));
  silent.Begin("door");
  std::jthread pushing([&] {
    while (silent.Push("unread")) continue;
  });
  // Its place is free again.
  WaitUntil([&] {
    return Counts().received > 1 &&
           stream().Snapshot().source.state == ingest::SourceState::kWaiting;
  });
  silent.ReadAll();
  pushing.join();
  const grpc::Status end = silent.End();
  EXPECT_EQ(end.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(end), "SLOW_SUBSCRIBER");
  EXPECT_EQ(DetailsOf(end).info.metadata().at("stream"), "door");
  EXPECT_THAT(end.error_message(), HasSubstr("this client took nothing for 0.2 s"));
}

TEST_F(FrameServiceTest, TheServerEndsACallThatIsIdle) {
  AddStream();
  Exchange client(channel_);
  client.Begin("door");
  streams_.Stop();
  EXPECT_THAT(client.ReadAll(), testing::IsEmpty());
  EXPECT_EQ(client.End().error_code(), grpc::StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace millrace::service
