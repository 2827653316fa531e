// Requests of the Open Inference Protocol that contradict themselves are refused with the field.
#include "service/wire/wire_inference.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error_reason.h"

namespace millrace::service {
namespace {

using inference::ModelInferRequest;
using ::testing::ElementsAre;

std::vector<std::string> WrongFields(const absl::Status& status) {
  std::vector<std::string> fields;
  for (const FieldViolation& wrong : FieldViolationsOf(status)) fields.push_back(wrong.field);
  return fields;
}

/// Two pictures of 1 x 2 pixels.
ModelInferRequest Pixels() {
  ModelInferRequest request;
  auto& input = *request.add_inputs();
  input.set_name("pictures");
  input.set_datatype("UINT8");
  for (const int side : {2, 1, 2, 3}) input.add_shape(side);
  request.add_raw_input_contents("abcdefghijkl");
  return request;
}

std::string Text(const ingest::PictureContent& content) {
  const auto bytes = std::holds_alternative<ingest::RawPicture>(content)
                         ? std::get<ingest::RawPicture>(content).bytes
                         : std::get<std::span<const std::uint8_t>>(content);
  return {bytes.begin(), bytes.end()};
}

TEST(WireInferenceTest, AModelHasOneVersionTheNewest) {
  EXPECT_TRUE(CheckModelVersion("").ok());
  EXPECT_TRUE(CheckModelVersion(kModelVersion).ok());
  EXPECT_TRUE(absl::IsNotFound(CheckModelVersion("2")));
}

TEST(WireInferenceTest, AnIdHasAtMost256Bytes) {
  EXPECT_TRUE(CheckId(std::string(256, 'x')).ok());
  EXPECT_THAT(WrongFields(CheckId(std::string(257, 'x'))), ElementsAre("id"));
}

TEST(WireInferenceTest, PixelsAreBorrowedOrCopiedFromTheirContents) {
  ModelInferRequest request = Pixels();
  auto sample = ToSample(request);
  ASSERT_TRUE(sample.ok()) << sample.status();
  ASSERT_EQ(sample->pictures.size(), 2u);
  EXPECT_EQ(Text(sample->pictures[0]), "abcdef");
  EXPECT_EQ(Text(sample->pictures[1]), "ghijkl");
  EXPECT_EQ(
      static_cast<const void*>(std::get<ingest::RawPicture>(sample->pictures[0]).bytes.data()),
      request.raw_input_contents(0).data());
  EXPECT_TRUE(sample->owned.empty());

  request.clear_raw_input_contents();
  for (int i = 0; i < 12; ++i) {
    request.mutable_inputs(0)->mutable_contents()->add_uint_contents(244 + i);
  }
  sample = ToSample(request);
  ASSERT_TRUE(sample.ok()) << sample.status();
  EXPECT_EQ(Text(sample->pictures[1]), "\xfa\xfb\xfc\xfd\xfe\xff");
}

TEST(WireInferenceTest, PixelsThatContradictTheirDescriptionAreRefused) {
  using Change = std::function<void(ModelInferRequest&)>;
  const std::vector<std::pair<std::string, Change>> wrong = {
      {"inputs", [](auto& request) { request.mutable_inputs(0)->set_name("images"); }},
      {"inputs", [](auto& request) { request.add_inputs(); }},
      {"inputs", [](auto& request) { request.clear_inputs(); }},
      {"inputs[0].datatype",
       [](auto& request) { request.mutable_inputs(0)->set_datatype("FP32"); }},
      {"inputs[0].shape", [](auto& request) { request.mutable_inputs(0)->set_shape(0, 4); }},
      {"inputs[0].shape", [](auto& request) { request.mutable_inputs(0)->set_shape(0, -1); }},
      {"inputs[0].shape", [](auto& request) { request.mutable_inputs(0)->set_shape(1, 0); }},
      {"inputs[0].shape",
       [](auto& request) { request.mutable_inputs(0)->set_shape(2, std::int64_t{1} << 40); }},
      {"inputs[0].shape", [](auto& request) { request.mutable_inputs(0)->set_shape(3, 4); }},
      {"inputs[0].shape", [](auto& request) { request.mutable_inputs(0)->add_shape(1); }},
      {"inputs[0]", [](auto& request) { request.mutable_raw_input_contents(0)->pop_back(); }},
      {"raw_input_contents", [](auto& request) { request.add_raw_input_contents("x"); }},
      {"inputs[0].contents",
       [](auto& request) { request.mutable_inputs(0)->mutable_contents()->add_uint_contents(1); }},
      {"inputs[0].contents.uint_contents",
       [](auto& request) {
         request.clear_raw_input_contents();
         request.mutable_inputs(0)->mutable_contents()->add_uint_contents(256);
       }},
  };
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    ModelInferRequest request = Pixels();
    wrong[i].second(request);
    EXPECT_THAT(WrongFields(ToSample(request).status()), ElementsAre(wrong[i].first)) << i;
  }
}

/// Images that follow their lengths.
ModelInferRequest Images(const std::string& raw, int count) {
  ModelInferRequest request;
  auto& input = *request.add_inputs();
  input.set_name("pictures");
  input.set_datatype("BYTES");
  input.add_shape(count);
  request.add_raw_input_contents(raw);
  return request;
}

TEST(WireInferenceTest, ImagesFollowTheirLengths) {
  using namespace std::string_literals;
  const std::string two = "\3\0\0\0abc\0\0\0\0"s;
  const ModelInferRequest request = Images(two, 2);
  const auto sample = ToSample(request);
  ASSERT_TRUE(sample.ok()) << sample.status();
  ASSERT_EQ(sample->pictures.size(), 2u);
  EXPECT_EQ(Text(sample->pictures[0]), "abc");
  EXPECT_EQ(Text(sample->pictures[1]), "");

  const auto fields = [](const ModelInferRequest& wrong) {
    return WrongFields(ToSample(wrong).status());
  };
  EXPECT_THAT(fields(Images(two, 3)), ElementsAre("inputs[0].shape"));
  for (const std::string& cut : {"\3\0\0"s, "\3\0\0\0ab"s, "\xff\xff\xff\xff"s}) {
    EXPECT_THAT(fields(Images(cut, 1)), ElementsAre("raw_input_contents[0]"));
  }
  EXPECT_THAT(fields(Images(std::string(16, '\0'), 4)), ElementsAre("raw_input_contents[0]"));
}

TEST(WireInferenceTest, ParametersOfASubscriptionAreThoseOfSubscribeRequest) {
  ModelInferRequest request;
  request.set_model_name("gate");
  auto& parameters = *request.mutable_parameters();
  parameters["policy"].set_string_param("LOSSLESS");
  parameters["depth"].set_int64_param(7);
  parameters["run_id"].set_string_param("abc");
  parameters["sequence"].set_int64_param(9);
  const auto subscription = ToSubscription(request);
  ASSERT_TRUE(subscription.ok()) << subscription.status();
  EXPECT_EQ(subscription->stream(), "gate");
  EXPECT_EQ(subscription->policy(), v1::DELIVERY_POLICY_LOSSLESS);
  EXPECT_EQ(subscription->depth(), 7);
  EXPECT_EQ(subscription->resume().run_id(), "abc");
  EXPECT_EQ(subscription->resume().sequence(), 9u);
}

TEST(WireInferenceTest, AnotherParameterAWrongTypeOrASequenceOfNoRunIsRefused) {
  using Change = std::function<void(inference::InferParameter&)>;
  const std::vector<std::pair<std::string, Change>> wrong = {
      {"policy", [](auto& value) { value.set_string_param("NEWEST"); }},
      {"policy", [](auto& value) { value.set_int64_param(1); }},
      {"depth", [](auto& value) { value.set_string_param("7"); }},
      {"depth", [](auto& value) { value.set_int64_param(std::int64_t{1} << 32); }},
      {"run_id", [](auto& value) { value.set_int64_param(1); }},
      {"sequence", [](auto& value) { value.set_int64_param(-1); }},
      {"sequence", [](auto& value) { value.set_int64_param(1); }},
      {"priority", [](auto& value) { value.set_int64_param(1); }},
  };
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    ModelInferRequest request;
    wrong[i].second((*request.mutable_parameters())[wrong[i].first]);
    EXPECT_THAT(WrongFields(ToSubscription(request).status()),
                ElementsAre("parameters[\"" + wrong[i].first + "\"]"))
        << i;
  }
}

}  // namespace
}  // namespace millrace::service
