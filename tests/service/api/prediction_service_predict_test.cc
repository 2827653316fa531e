// PredictionService.Predict: predictions for pictures that clients send.
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millrace/v1/prediction_service.grpc.pb.h"
#include "tests/service/support/error_details.h"
#include "tests/service/support/grpc_fixture.h"

namespace millrace::service {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A picture of `width` x `height`, each byte `value`.
v1::Picture Pixels(int width, int height, char value) {
  v1::Picture picture;
  picture.mutable_raw()->set_format(v1::PIXEL_FORMAT_RGB);
  picture.mutable_raw()->set_width(width);
  picture.mutable_raw()->set_height(height);
  picture.mutable_raw()->set_data(std::string(std::size_t{3} * width * height, value));
  return picture;
}

v1::PredictRequest Asking(const std::string& stream, const std::vector<v1::Picture>& pictures) {
  v1::PredictRequest request;
  request.set_stream(stream);
  for (const v1::Picture& picture : pictures) *request.add_pictures() = picture;
  return request;
}

std::vector<float> FloatsOf(const v1::Tensor& tensor) {
  std::vector<float> floats(tensor.data().size() / sizeof(float));
  std::memcpy(floats.data(), tensor.data().data(), tensor.data().size());
  return floats;
}

class PredictTest : public GrpcFixture {
 protected:
  PredictTest() = default;
  using GrpcFixture::GrpcFixture;

  grpc::Status Predict(const v1::PredictRequest& request) {
    grpc::ClientContext context;
    v1::PredictResponse response;
    const grpc::Status status = stub_->Predict(&context, request, &response);
    prediction_ = response.prediction();
    predictions_.assign(response.predictions().begin(), response.predictions().end());
    return status;
  }
  /// The field that is wrong with a request, and why.
  std::pair<std::string, std::string> WrongWith(const v1::PredictRequest& request) {
    const grpc::Status status = Predict(request);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    const ErrorDetails details = DetailsOf(status);
    if (details.bad_request.field_violations_size() != 1) return {"", status.error_message()};
    const auto& violation = details.bad_request.field_violations(0);
    return {violation.field(), violation.description()};
  }

  std::unique_ptr<v1::PredictionService::Stub> stub_ = v1::PredictionService::NewStub(channel_);
  v1::Prediction prediction_;
  std::vector<v1::Prediction> predictions_;  // Of several samples.
};

TEST_F(PredictTest, SaysWhatTheModelSaysOfAClientsPictures) {
  const grpc::Status status = Predict(Asking("street", {Pixels(8, 6, 1), Pixels(8, 6, 7)}));
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(prediction_.stream(), "street");
  EXPECT_THAT(prediction_.flow().shape(), ElementsAre(2, 4, 2));
  EXPECT_THAT(FloatsOf(prediction_.flow()), Each(7)) << "of the newest picture, scaled";
  EXPECT_EQ(prediction_.grid().width(), 4);
  EXPECT_EQ(prediction_.camera().width(), 8);
  EXPECT_EQ(prediction_.camera().height(), 6);
  EXPECT_FALSE(prediction_.learned_from());
  EXPECT_EQ(prediction_.frame_number(), 0);
  EXPECT_GT(prediction_.arrival_time().seconds(), 1'600'000'000);
  EXPECT_EQ(street().Snapshot().frames.received, 0u) << "it is no frame";
}

TEST_F(PredictTest, CarriesWhatIsAskedFor) {
  v1::PredictRequest request = Asking("street", {Pixels(4, 2, 1), Pixels(4, 2, 7)});
  request.mutable_parts()->set_preview(true);
  ASSERT_TRUE(Predict(request).ok());
  EXPECT_FALSE(prediction_.has_flow());
  EXPECT_THAT(prediction_.preview(), testing::StartsWith("\xff\xd8"));
  EXPECT_FALSE(prediction_.has_uncertainty());

  request.mutable_parts()->set_uncertainty(true);
  ASSERT_TRUE(Predict(request).ok());
  const v1::Tensor& uncertainty = prediction_.uncertainty();
  EXPECT_THAT(uncertainty.shape(), ElementsAre(2, 4));
  // The flow points out of the picture, where the border's light of 7 differs from that of 1.
  EXPECT_THAT(FloatsOf(uncertainty), Each(testing::FloatEq(1.5)));
}

TEST_F(PredictTest, APausedOrEndedModelAnswersToo) {
  const v1::PredictRequest request = Asking("street", {Pixels(4, 2, 1), Pixels(4, 2, 7)});
  ASSERT_TRUE(street().SetMode(LearnerState::kPaused).ok());
  EXPECT_TRUE(Predict(request).ok());
  street_.source->End();
  while (!street().ended()) std::this_thread::yield();
  EXPECT_TRUE(Predict(request).ok());
}

TEST_F(PredictTest, AStreamThatIsNotThereIsNotFound) {
  const grpc::Status status = Predict(Asking("road", {Pixels(4, 2, 1), Pixels(4, 2, 7)}));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), HasSubstr("street"));
}

TEST_F(PredictTest, ASampleHasAsManyPicturesAsTheModelLooksAt) {
  const auto [field, why] = WrongWith(Asking("street", {Pixels(4, 2, 1)}));
  EXPECT_EQ(field, "pictures");
  EXPECT_THAT(why, HasSubstr("has 1; a sample of stream 'street' is 2 pictures"));
}

TEST_F(PredictTest, WhatIsNoPictureIsNamed) {
  v1::Picture cut = Pixels(4, 2, 1);
  cut.mutable_raw()->set_height(3);
  v1::Picture text;
  text.set_image("this is text");
  v1::Picture formless = Pixels(4, 2, 1);
  formless.mutable_raw()->clear_format();
  for (const v1::Picture& wrong : {cut, text, formless, v1::Picture()}) {
    EXPECT_EQ(WrongWith(Asking("street", {Pixels(4, 2, 1), wrong})).first, "pictures[1]")
        << wrong.ShortDebugString();
  }
}

/// A request with a sample of two pictures for each value, which fills the second picture.
v1::PredictRequest AskingSeveral(const std::vector<char>& values) {
  v1::PredictRequest request;
  request.set_stream("street");
  for (const char value : values) {
    v1::Sample& sample = *request.add_samples();
    *sample.add_pictures() = Pixels(4, 2, 1);
    *sample.add_pictures() = Pixels(4, 2, value);
  }
  return request;
}

TEST_F(PredictTest, AnswersSeveralSamplesInTheirOrder) {
  ASSERT_TRUE(Predict(AskingSeveral({5, 3, 9})).ok());
  EXPECT_FALSE(prediction_.has_flow()) << "there is none of `pictures`";
  ASSERT_EQ(predictions_.size(), 3u);
  for (const auto& [number, value] : {std::pair(0, 5), std::pair(1, 3), std::pair(2, 9)}) {
    EXPECT_THAT(FloatsOf(predictions_[number].flow()), Each(value));
    EXPECT_EQ(predictions_[number].camera().width(), 4);
    EXPECT_GT(predictions_[number].delay().nanos(), 0);
  }
}

// All that is wrong is said at once, by its place, and nothing is answered.
TEST_F(PredictTest, EachWrongSampleIsNamedByItsNumber) {
  v1::PredictRequest request = AskingSeveral({1, 2, 3, 4});
  request.mutable_samples(1)->mutable_pictures(1)->set_image("this is text");
  request.mutable_samples(3)->mutable_pictures()->RemoveLast();
  const grpc::Status status = Predict(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  const ErrorDetails details = DetailsOf(status);
  std::vector<std::string> fields;
  for (const auto& wrong : details.bad_request.field_violations()) fields.push_back(wrong.field());
  EXPECT_THAT(fields, ElementsAre("samples[1].pictures[1]", "samples[3].pictures"));
  EXPECT_THAT(status.error_message(), HasSubstr("samples[1].pictures[1]"));
  EXPECT_TRUE(predictions_.empty());
}

TEST_F(PredictTest, SeveralSamplesAreBounded) {
  EXPECT_TRUE(Predict(AskingSeveral(std::vector<char>(64, 7))).ok());
  EXPECT_EQ(predictions_.size(), 64u);
  const auto [field, why] = WrongWith(AskingSeveral(std::vector<char>(65, 7)));
  EXPECT_EQ(field, "samples");
  EXPECT_THAT(why, HasSubstr("has 65; a call may have 64"));
}

TEST_F(PredictTest, OneSampleAndSeveralAreNotMixed) {
  v1::PredictRequest request = AskingSeveral({5});
  *request.add_pictures() = Pixels(4, 2, 1);
  EXPECT_EQ(WrongWith(request).first, "samples");
}

class PredictOfLargePicturesTest : public PredictTest {
 protected:
  PredictOfLargePicturesTest() : PredictTest({.learner = {.width = 2048, .height = 1024}}) {}
};

TEST_F(PredictOfLargePicturesTest, SeveralAnswersFitIntoAMessage) {
  v1::PredictRequest request = AskingSeveral({1, 2, 3, 4});
  EXPECT_THAT(WrongWith(request).second, HasSubstr("a call may have 2 with what `parts` asks for"));
  request.mutable_parts();  // No array.
  EXPECT_TRUE(Predict(request).ok());
  EXPECT_EQ(predictions_.size(), 4u);
}

TEST_F(PredictOfLargePicturesTest, TheUncertaintyCountsToo) {
  v1::PredictRequest request = AskingSeveral(std::vector<char>(6, 1));
  request.mutable_parts()->set_uncertainty(true);
  EXPECT_THAT(WrongWith(request).second, HasSubstr("a call may have 5 with"));
  request.mutable_parts()->set_flow(true);
  EXPECT_THAT(WrongWith(request).second, HasSubstr("a call may have 1 with"));
}

class PredictOfNextFrameTest : public PredictTest {
 protected:
  PredictOfNextFrameTest() : PredictTest({.next_frame = true}) {}
};

TEST_F(PredictOfNextFrameTest, ASampleIsThreePictures) {
  const std::vector<v1::Picture> pictures(3, Pixels(4, 2, 9));
  ASSERT_TRUE(Predict(Asking("street", pictures)).ok());
  EXPECT_EQ(street_.learner->bytes_before, 24u);
  EXPECT_THAT(prediction_.next_picture().shape(), ElementsAre(2, 4, 3));
  EXPECT_FALSE(prediction_.has_uncertainty()) << "only on request";
  EXPECT_EQ(WrongWith(Asking("street", {pictures[0], pictures[1]})).first, "pictures");
}

class PredictOfLabelsTest : public PredictTest {
 protected:
  PredictOfLabelsTest()
      : PredictTest({.learner = {.labels = pipeline::LabelledTask{
                                     .outputs = 3, .classes = {"shut", "open", "ajar"}}}}) {}
};

TEST_F(PredictOfLabelsTest, ASampleIsOnePicture) {
  ASSERT_TRUE(Predict(Asking("street", {Pixels(4, 2, 7)})).ok());
  EXPECT_THAT(FloatsOf(prediction_.outputs()), ElementsAre(7, 7, 7));
  EXPECT_EQ(prediction_.best_class(), 1);
  EXPECT_EQ(prediction_.best_class_name(), "open");
  EXPECT_FALSE(prediction_.has_flow());
}

}  // namespace
}  // namespace millrace::service
