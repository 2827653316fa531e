// The common rules of requests for predictions of a client's own pictures, in every API.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millrace/v1/prediction_service.pb.h"
#include "service/api/client_sample.h"
#include "tests/service/support/error_details.h"
#include "tests/service/support/grpc_fixture.h"
#include "tests/service/support/inference_client.h"
#include "tests/service/support/raw_calls.h"

namespace millrace::service {
namespace {

using ::testing::HasSubstr;

enum class Api { kMillrace, kInference };

std::string MethodOf(Api api) {
  return api == Api::kMillrace ? "millrace.v1.PredictionService/Predict"
                               : "inference.GRPCInferenceService/ModelInfer";
}

/// A question about two pictures of the stream "street".
std::string Question(Api api) {
  if (api == Api::kInference) return Asking("street").SerializeAsString();
  v1::PredictRequest request;
  request.set_stream("street");
  for (int i = 0; i < 2; ++i) {
    v1::RawPicture& raw = *request.add_pictures()->mutable_raw();
    raw.set_format(v1::PIXEL_FORMAT_RGB);
    raw.set_width(4);
    raw.set_height(2);
    raw.set_data(std::string(24, 7));
  }
  return request.SerializeAsString();
}

/// One of very many parts, two bytes each, that hold nothing.
std::string Swollen(Api api) {
  const std::string part(api == Api::kMillrace ? "\x12\0" : "\x2a\0", 2);
  std::string question;
  for (int i = 0; i < 2'000'000; ++i) question += part;
  return question;
}

/// Longer than it is.
constexpr char kNoMessage[] = "\x0a\xff\xff\xff\xff\x0f";

class ClientPredictionsTest : public GrpcFixture, public testing::WithParamInterface<Api> {
 protected:
  grpc::Status Ask(grpc::ClientContext& context, const std::string& question) {
    return CallRaw(channel_, MethodOf(GetParam()), context, question);
  }
  grpc::Status Ask(const std::string& question) {
    grpc::ClientContext context;
    return Ask(context, question);
  }
  [[nodiscard]] std::string Right() const { return Question(GetParam()); }
  /// Calls that return at once, one after the other. They give the server time for earlier
  /// messages.
  void Chat(int calls) {
    for (int i = 0; i < calls; ++i) {
      grpc::ClientContext context;
      EXPECT_TRUE(CallRaw(channel_, "inference.GRPCInferenceService/ServerLive", context).ok());
    }
  }
};

INSTANTIATE_TEST_SUITE_P(OfEachApi, ClientPredictionsTest,
                         testing::Values(Api::kMillrace, Api::kInference), [](const auto& api) {
                           return api.param == Api::kMillrace ? "Predict" : "ModelInfer";
                         });

/// Holds the thread of questions from its first one on.
class Held {
 public:
  explicit Held(FakeLearner& learner) {
    learner.AtQuestions([this, go = go_on_.get_future().share()] {
      if (++questions_ == 1) held_.set_value();
      go.wait();
    });
  }

  void Await() { held_.get_future().wait(); }
  void GoOn() { go_on_.set_value(); }
  [[nodiscard]] int questions() const { return questions_; }

 private:
  std::promise<void> held_;
  std::promise<void> go_on_;
  std::atomic<int> questions_ = 0;
};

TEST_P(ClientPredictionsTest, AModelThatHasFailedSaysSo) {
  Film(street_, 2);
  street_.learner->Fail(absl::InternalError("the weights are gone"));
  street_.source->Push();
  while (street().Snapshot().learner.ok()) std::this_thread::yield();
  const grpc::Status status = Ask(Right());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonOf(status), "LEARNER_FAILED");
  EXPECT_THAT(status.error_message(), HasSubstr("the weights are gone"));
}

TEST_P(ClientPredictionsTest, WhatTakesFarMoreMemoryThanItsBytesIsRefused) {
  const grpc::Status status = Ask(Swollen(GetParam()));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("MiB of memory"));
}

// Behind a question that the test does not let go on, with the
// thread's queue full: whatever waits is not looked at.
TEST_P(ClientPredictionsTest, WhatWaitsIsNotParsedAndMoreThanMayWaitIsToldToTryAgain) {
  Held held(*street_.learner);
  std::vector<std::future<grpc::Status>> calls;
  const auto call = [&](const std::string& question) {
    calls.push_back(std::async(std::launch::async, [this, question] { return Ask(question); }));
  };
  call(Right());
  held.Await();
  for (int i = 0; i < 17; ++i) call(kNoMessage);
  // 16 may wait: of these one is refused at once, whichever it is.
  const grpc::Status status = FirstToEnd(calls);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(status), "TOO_MANY_QUESTIONS");
  EXPECT_TRUE(DetailsOf(status).has_retry);
  held.GoOn();
  EXPECT_TRUE(calls.front().get().ok());
  calls.erase(calls.begin());
  for (auto& other : calls) {
    if (!other.valid()) continue;
    const grpc::Status parsed = other.get();
    EXPECT_EQ(parsed.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(parsed.error_message(), HasSubstr("this is no "));
  }
}

// A client's end may reach the server after the turn of its call. Then the server answers without a
// client. So the test tries again, each time with more time for the end.
constexpr int kMaxCalls = 4096;

TEST_P(ClientPredictionsTest, OneWhoseDeadlinePassesWhileItWaitsIsLetGo) {
  for (int calls = 4; calls <= kMaxCalls; calls *= 4) {
    Held held(*street_.learner);
    auto first = std::async(std::launch::async, [&] { return Ask(Right()); });
    held.Await();
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(20));
    EXPECT_EQ(Ask(context, Right()).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
    Chat(calls);
    held.GoOn();
    EXPECT_TRUE(first.get().ok());
    EXPECT_TRUE(Ask(Right()).ok()) << "behind both";
    street_.learner->AtQuestions({});
    if (held.questions() == 2) return;
  }
  ADD_FAILURE() << "it is answered though nobody waits for it any more";
}

/// On the thread of questions, which alone is so nice.
bool OnThreadOfQuestions() { return getpriority(PRIO_PROCESS, static_cast<id_t>(gettid())) == 19; }

// Held before its pictures are looked at. Its end may come late, as above.
TEST_P(ClientPredictionsTest, OneThatIsCancelledUnderWayDoesNotReachTheModel) {
  for (int calls = 4; calls <= kMaxCalls; calls *= 4) {
    std::atomic<int> questions = 0;
    street_.learner->AtQuestions([&questions] { ++questions; });
    std::promise<void> held;
    std::promise<void> go_on;
    street_.learner->AtDescriptions(
        [&, once = std::make_shared<std::once_flag>(), go = go_on.get_future().share()] {
          if (!OnThreadOfQuestions()) return;
          std::call_once(*once, [&held] { held.set_value(); });
          go.wait();
        });
    grpc::ClientContext context;
    auto first = std::async(std::launch::async, [&] { return Ask(context, Right()); });
    held.get_future().wait();
    context.TryCancel();
    EXPECT_EQ(first.get().error_code(), grpc::StatusCode::CANCELLED);
    Chat(calls);
    street_.learner->AtDescriptions({});
    go_on.set_value();
    EXPECT_TRUE(Ask(Right()).ok()) << "behind it";
    street_.learner->AtQuestions({});
    if (questions == 1) return;
  }
  ADD_FAILURE() << "its model is asked though nobody waits for the answer any more";
}

class ClientSampleTest : public GrpcFixture {};

TEST_F(ClientSampleTest, IsNotLookedAtOnceItIsNotWanted) {
  std::atomic<int> questions = 0;
  street_.learner->AtQuestions([&questions] { ++questions; });
  std::stop_source stop;
  stop.request_stop();
  const ingest::PictureContent no_image = std::span<const std::uint8_t>();
  const auto given_up =
      MakeSample(street(), std::vector{no_image, no_image}, stop.get_token()).status();
  EXPECT_TRUE(absl::IsCancelled(given_up)) << given_up;
  const std::vector<std::uint8_t> pixels(24);
  const ingest::PictureContent picture =
      ingest::RawPicture{.width = 4, .height = 2, .bytes = pixels};
  EXPECT_FALSE(MakeSample(street(), std::vector{picture, picture}, stop.get_token()).ok());
  EXPECT_EQ(questions, 0);
}

}  // namespace
}  // namespace millrace::service
