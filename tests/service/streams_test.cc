#include "service/streams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/service/fake_stream.h"

namespace millrace::service {
namespace {

using ::testing::Eq;

TEST(StreamsTest, FindsByNameAndSaysWhichThereAre) {
  FakeStream street = StartFakeStream({.name = "street"});
  FakeStream yard = StartFakeStream({.name = "yard"});
  CameraStream* const yard_stream = yard.stream.get();
  std::vector<std::unique_ptr<CameraStream>> all;
  all.push_back(std::move(street.stream));
  all.push_back(std::move(yard.stream));
  const Streams streams(std::move(all));

  EXPECT_EQ(*streams.Find("yard"), yard_stream);
  EXPECT_THAT(streams.Find("gate").status(),
              Eq(absl::NotFoundError("there is no stream 'gate'; there are 'street', 'yard'")));
  EXPECT_THAT(streams.Find("").status(),
              Eq(absl::NotFoundError("name a stream, one of 'street', 'yard'")));
}

TEST(StreamsTest, EmptyNameMeansTheOnlyStream) {
  FakeStream street = StartFakeStream({.name = "street"});
  CameraStream* const stream = street.stream.get();
  std::vector<std::unique_ptr<CameraStream>> all;
  all.push_back(std::move(street.stream));
  const Streams streams(std::move(all));
  EXPECT_EQ(*streams.Find(""), stream);
}

TEST(StreamsTest, StopEndsAllOfThem) {
  FakeStream street = StartFakeStream({.name = "street"});
  FakeStream yard = StartFakeStream({.name = "yard"});
  std::vector<std::unique_ptr<CameraStream>> all;
  all.push_back(std::move(street.stream));
  all.push_back(std::move(yard.stream));
  Streams streams(std::move(all));
  streams.Stop();
  streams.Stop();
  for (const auto& stream : streams.all()) EXPECT_TRUE(stream->ring().closed());
}

}  // namespace
}  // namespace millrace::service
