// Calls of AddLabels while they wait for the one before.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "millrace/v1/label_service.pb.h"
#include "tests/service/support/error_details.h"
#include "tests/service/support/grpc_fixture.h"
#include "tests/service/support/raw_calls.h"

namespace millrace::service {
namespace {

FakeStreamOptions OfThreeClasses() {
  FakeStreamOptions options;
  options.learner.labels = pipeline::LabelledTask{.outputs = 3, .window = 4};
  return options;
}

/// Holds the thread of labels from the first one on that reaches the learner.
class HeldLabel {
 public:
  explicit HeldLabel(FakeLearner& learner) : learner_(learner) {
    learner_.AtLabels([this, go = go_on_.get_future().share()] {
      if (!std::exchange(begun_, true)) held_.set_value();
      go.wait();
    });
  }
  /// REQUIRES: no call is under way any more.
  ~HeldLabel() { learner_.AtLabels({}); }

  HeldLabel(const HeldLabel&) = delete;
  HeldLabel& operator=(const HeldLabel&) = delete;

  void Await() { held_.get_future().wait(); }
  void GoOn() { go_on_.set_value(); }

 private:
  FakeLearner& learner_;
  std::promise<void> held_;
  std::promise<void> go_on_;
  bool begun_ = false;  // Of the thread of labels.
};

class LabelServiceWaitingTest : public GrpcFixture {
 protected:
  LabelServiceWaitingTest() : GrpcFixture(OfThreeClasses()) {}

  /// The camera takes three pictures, and each is predicted. The first one's number: it and the
  /// next can be labelled, and what they are labelled with reaches the learner at once.
  std::int64_t FilmThree() {
    const std::int64_t first = filmed_;
    for (int i = 0; i < 3; ++i) {
      street_.source->Push();
      street_.learner->Predict();
    }
    filmed_ += 3;
    return first;
  }

  /// A request for one label.
  static std::string LabelOf(std::int64_t frame) {
    v1::AddLabelsRequest request;
    request.set_stream("street");
    v1::FrameLabel& label = *request.add_labels();
    label.set_frame_number(frame);
    label.set_class_number(1);
    return request.SerializeAsString();
  }

  grpc::Status Add(grpc::ClientContext& context, const std::string& request,
                   v1::LabelResult* result = nullptr) {
    std::string bytes;
    const grpc::Status status =
        CallRaw(channel_, "millrace.v1.LabelService/AddLabels", context, request, &bytes);
    if (result != nullptr && status.ok()) {
      v1::AddLabelsResponse response;
      MILLRACE_CHECK(response.ParseFromString(bytes));
      *result = response.outcomes(0).result();
    }
    return status;
  }
  grpc::Status Add(const std::string& request, v1::LabelResult* result = nullptr) {
    grpc::ClientContext context;
    return Add(context, request, result);
  }

  /// Calls that return at once, one after the other. They give the server time for earlier
  /// messages.
  void Chat(int calls) {
    for (int i = 0; i < calls; ++i) {
      grpc::ClientContext context;
      EXPECT_TRUE(CallRaw(channel_, "inference.GRPCInferenceService/ServerLive", context).ok());
    }
  }

  /// The end of a client may reach the server after its call's turn has come: then its label is
  /// taken. So `wait_in_vain`, with the request for a label, is tried, with ever more time for
  /// that, until it is not.
  template <typename WaitInVain>
  void ExpectNotTaken(const WaitInVain& wait_in_vain) {
    constexpr int kMaxCalls = 4096;
    for (int calls = 4; calls <= kMaxCalls; calls *= 4) {
      const std::int64_t frame = FilmThree();
      {
        HeldLabel held(*street_.learner);
        auto first = std::async(std::launch::async, [&] { return Add(LabelOf(frame)); });
        held.Await();
        wait_in_vain(LabelOf(frame + 1));
        Chat(calls);
        held.GoOn();
        EXPECT_TRUE(first.get().ok());
        EXPECT_TRUE(Add(LabelOf(filmed_)).ok()) << "which has not come; behind both";
      }
      v1::LabelResult result = v1::LABEL_RESULT_UNSPECIFIED;
      EXPECT_TRUE(Add(LabelOf(frame + 1), &result).ok());
      if (result == v1::LABEL_RESULT_ADDED) return;
      EXPECT_EQ(result, v1::LABEL_RESULT_ALREADY_LABELLED);
    }
    ADD_FAILURE() << "its label is taken though nobody waits for it any more";
  }

 private:
  std::int64_t filmed_ = 0;
};

TEST_F(LabelServiceWaitingTest, WhatWaitsIsNotParsedAndMoreThanMayWaitIsToldToTryAgain) {
  const std::int64_t frame = FilmThree();
  HeldLabel held(*street_.learner);
  std::vector<std::future<grpc::Status>> calls;
  const auto call = [&](const std::string& request) {
    calls.push_back(std::async(std::launch::async, [this, request] { return Add(request); }));
  };
  call(LabelOf(frame));
  held.Await();
  const std::string no_message = "\x0a\xff\xff\xff\xff\x0f";  // Longer than it is.
  for (int i = 0; i < 17; ++i) call(no_message);
  // 16 may wait: of these one is refused at once, whichever it is.
  const grpc::Status status = FirstToEnd(calls);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(status), "TOO_MANY_LABELS");
  EXPECT_TRUE(DetailsOf(status).has_retry);
  held.GoOn();
  EXPECT_TRUE(calls.front().get().ok());
  calls.erase(calls.begin());
  for (auto& other : calls) {
    if (!other.valid()) continue;
    EXPECT_EQ(other.get().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
}

TEST_F(LabelServiceWaitingTest, ALabelWhoseClientHasCancelledIsNotTaken) {
  ExpectNotTaken([this](const std::string& request) {
    grpc::ClientContext context;
    auto status = std::async(std::launch::async, [&] { return Add(context, request); });
    Chat(4);  // It waits by then.
    context.TryCancel();
    EXPECT_EQ(status.get().error_code(), grpc::StatusCode::CANCELLED);
  });
}

TEST_F(LabelServiceWaitingTest, ALabelWhoseDeadlineHasPassedIsNotTaken) {
  ExpectNotTaken([this](const std::string& request) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(20));
    EXPECT_EQ(Add(context, request).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  });
}

}  // namespace
}  // namespace millrace::service
