#include "service/api/label_service.h"

#include <limits>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millrace/v1/label_service.grpc.pb.h"
#include "millrace/v1/prediction_service.grpc.pb.h"
#include "millrace/v1/stream_service.grpc.pb.h"
#include "tests/service/support/error_details.h"
#include "tests/service/support/grpc_fixture.h"

namespace millrace::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

FakeStreamOptions WithTask(pipeline::LabelledTask task) {
  FakeStreamOptions options;
  options.learner.labels = std::move(task);
  return options;
}

class LabelServiceTest : public GrpcFixture {
 protected:
  explicit LabelServiceTest(const pipeline::LabelledTask& task = {.outputs = 3,
                                                                  .classes = {"cat", "dog", "cow"},
                                                                  .window = 4})
      : GrpcFixture(WithTask(task)), stub_(v1::LabelService::NewStub(channel_)) {}

  /// The camera takes `frames` pictures, and each is predicted: labels need no predecessor.
  void FilmAll(int frames) {
    for (int i = 0; i < frames; ++i) {
      street_.source->Push();
      street_.learner->Predict();
    }
  }

  v1::FrameLabel& NewLabel(std::int64_t frame) {
    v1::FrameLabel& label = *request_.add_labels();
    label.set_frame_number(frame);
    return label;
  }

  grpc::Status Send(const std::string& stream = "street") {
    grpc::ClientContext context;
    request_.set_stream(stream);
    response_.Clear();
    grpc::Status status = stub_->AddLabels(&context, request_, &response_);
    request_.clear_labels();
    return status;
  }

  std::vector<v1::LabelResult> Results() const {
    std::vector<v1::LabelResult> results;
    for (const v1::LabelOutcome& outcome : response_.outcomes()) {
      results.push_back(outcome.result());
    }
    return results;
  }

  v1::Prediction Newest() {
    const auto predictions = v1::PredictionService::NewStub(channel_);
    grpc::ClientContext context;
    v1::GetLatestRequest request;
    request.set_stream("street");
    v1::GetLatestResponse response;
    EXPECT_TRUE(predictions->GetLatest(&context, request, &response).ok());
    return response.prediction();
  }

  std::unique_ptr<v1::LabelService::Stub> stub_;
  v1::AddLabelsRequest request_;
  v1::AddLabelsResponse response_;
};

TEST_F(LabelServiceTest, OneBadLabelTakesNothingFromTheOthers) {
  FilmAll(6);
  NewLabel(5).set_class_number(2);
  NewLabel(77).set_class_number(1);
  NewLabel(4).set_class_name("dog");
  NewLabel(5).set_class_number(1);
  NewLabel(3).set_class_name("horse");
  NewLabel(0).set_class_number(0);
  NewLabel(3);
  ASSERT_TRUE(Send().ok());
  EXPECT_THAT(Results(), ElementsAre(v1::LABEL_RESULT_ADDED, v1::LABEL_RESULT_UNKNOWN_FRAME,
                                     v1::LABEL_RESULT_ADDED, v1::LABEL_RESULT_ALREADY_LABELLED,
                                     v1::LABEL_RESULT_INVALID, v1::LABEL_RESULT_TOO_LATE,
                                     v1::LABEL_RESULT_INVALID));
  EXPECT_EQ(response_.outcomes(1).frame_number(), 77);
  EXPECT_EQ(response_.outcomes(0).message(), "");
  EXPECT_EQ(response_.outcomes(4).message(),
            "there is no class 'horse'; use one of: cat, dog, cow");
  FilmAll(1);
  EXPECT_EQ(Newest().labelled(), 2);
}

TEST_F(LabelServiceTest, MoreThanFitIntoAResponseAreRefusedAndNoneIsTaken) {
  FilmAll(2);
  for (int i = 0; i < 4097; ++i) NewLabel(1).set_class_number(1);
  const grpc::Status refused = Send();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(ReasonOf(refused), "INVALID_FIELD");
  const auto bad = DetailsOf(refused).bad_request;
  ASSERT_EQ(bad.field_violations_size(), 1);
  EXPECT_EQ(bad.field_violations(0).field(), "labels");
  EXPECT_THAT(bad.field_violations(0).description(), HasSubstr("has 4097; send at most 4096"));
  request_.Clear();
  NewLabel(1).set_class_number(1);
  ASSERT_TRUE(Send().ok());
  EXPECT_THAT(Results(), ElementsAre(v1::LABEL_RESULT_ADDED));
}

// 8 MB of names; a client takes 4 MiB.
TEST_F(LabelServiceTest, WhatWasWrongReachesTheClientHoweverLongTheNamesAre) {
  FilmAll(1);
  for (int i = 0; i < 4096; ++i) NewLabel(0).set_class_name(std::string(2000, 'x'));
  const grpc::Status status = Send();
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(response_.outcomes_size(), 4096);
  for (const v1::LabelOutcome& outcome : response_.outcomes()) {
    ASSERT_EQ(outcome.result(), v1::LABEL_RESULT_INVALID);
    ASSERT_LE(outcome.message().size(), 300u);
    ASSERT_THAT(outcome.message(), HasSubstr("use one of: cat, dog, cow"));
  }
}

TEST_F(LabelServiceTest, APredictionSaysTheClassAndItsProbabilities) {
  FilmAll(2);
  const v1::Prediction prediction = Newest();
  EXPECT_EQ(prediction.frame_number(), 1);
  EXPECT_TRUE(prediction.has_best_class());
  EXPECT_EQ(prediction.best_class(), 1);
  EXPECT_EQ(prediction.best_class_name(), "dog");
  EXPECT_THAT(prediction.outputs().shape(), ElementsAre(3));
  EXPECT_EQ(prediction.outputs().data().size(), 3 * sizeof(float));
  EXPECT_FALSE(prediction.has_flow());
  EXPECT_FALSE(prediction.has_grid());
}

TEST_F(LabelServiceTest, TheStreamSaysWhichLabelsItTakes) {
  const auto streams = v1::StreamService::NewStub(channel_);
  grpc::ClientContext context;
  v1::GetStreamRequest request;
  request.set_stream("street");
  v1::GetStreamResponse response;
  ASSERT_TRUE(streams->GetStream(&context, request, &response).ok());
  const v1::LabelledTask& task = response.stream().labelled_task();
  EXPECT_EQ(task.kind(), v1::LABEL_KIND_CLASS);
  EXPECT_EQ(task.outputs(), 3);
  EXPECT_EQ(task.window(), 4);
  EXPECT_THAT(task.class_names(), ElementsAre("cat", "dog", "cow"));
}

TEST_F(LabelServiceTest, FailsAsAWholeOnceTheStreamHasEnded) {
  FilmAll(2);
  street_.source->End();
  while (!street().ended()) std::this_thread::yield();
  const grpc::Status status = Send();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(status.error_message(), "stream 'street' has ended and learns no more");
  EXPECT_EQ(ReasonOf(status), "STREAM_ENDED");
}

TEST_F(LabelServiceTest, FailsAsAWholeForAStreamThatThereIsNot) {
  NewLabel(0).set_class_number(0);
  const grpc::Status status = Send("garden");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), HasSubstr("'street'"));
}

TEST_F(LabelServiceTest, FailsAsAWholeOnceTheLearnerHasFailed) {
  street_.learner->Fail(absl::InternalError("out of memory"));
  street_.source->Push();
  while (street().Snapshot().learner.ok()) std::this_thread::yield();
  NewLabel(0).set_class_number(0);
  const grpc::Status status = Send();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("out of memory"));
  EXPECT_EQ(ReasonOf(status), "LEARNER_FAILED");
}

class ValueServiceTest : public LabelServiceTest {
 protected:
  ValueServiceTest()
      : LabelServiceTest({.task = pipeline::LabelTask::kRegression, .outputs = 2, .window = 4}) {}
};

TEST_F(ValueServiceTest, TakesAsManyFiniteValuesAsThereAre) {
  FilmAll(1);
  const auto send = [this](std::vector<float> values) {
    v1::LabelValues& message = *NewLabel(0).mutable_values();
    for (const float value : values) message.add_values(value);
    EXPECT_TRUE(Send().ok());
    return Results().at(0);
  };
  EXPECT_EQ(send({1}), v1::LABEL_RESULT_INVALID);
  EXPECT_EQ(send({1, std::numeric_limits<float>::infinity()}), v1::LABEL_RESULT_INVALID);
  EXPECT_EQ(send({1, 2}), v1::LABEL_RESULT_ADDED);
  const v1::Prediction prediction = Newest();
  EXPECT_FALSE(prediction.has_best_class());
  EXPECT_EQ(prediction.best_class_name(), "");
}

class FlowServiceTest : public GrpcFixture {};

TEST_F(FlowServiceTest, AStreamThatLearnsWithoutLabelsTakesNone) {
  Film(street_, 3);
  const auto stub = v1::LabelService::NewStub(channel_);
  grpc::ClientContext context;
  v1::AddLabelsRequest request;
  request.set_stream("street");
  v1::AddLabelsResponse response;
  const grpc::Status status = stub->AddLabels(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(
      status.error_message(),
      "stream 'street' learns without labels; set model.task to classification or regression");
  EXPECT_EQ(ReasonOf(status), "LEARNS_WITHOUT_LABELS");
}

}  // namespace
}  // namespace millrace::service
