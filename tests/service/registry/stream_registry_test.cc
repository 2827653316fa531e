#include "service/registry/stream_registry.h"

#include <stop_token>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/no_more_threads.h"
#include "tests/service/support/fake_stream.h"

namespace millrace::service {
namespace {

using ::testing::ElementsAre;

class StreamRegistryTest : public ::testing::Test {
 protected:
  /// A running stream; its parts live as long as the test.
  SharedStream Start(const std::string& name) {
    fakes_.push_back(StartFakeStream({.name = name}));
    auto record = std::make_shared<StreamRecord>(clock_, clock_.Now());
    return std::make_shared<ServedStream>(record, std::move(fakes_.back().stream));
  }

  FakeClock clock_;
  std::vector<FakeStream> fakes_;
  StreamRegistry streams_;
};

TEST_F(StreamRegistryTest, FindsByNameAndSaysWhichThereAre) {
  const SharedStream street = Start("street");
  const SharedStream yard = Start("yard");
  ASSERT_TRUE(streams_.Add(street).ok());
  ASSERT_TRUE(streams_.Add(yard).ok());

  EXPECT_EQ(*streams_.Find("yard"), yard);
  EXPECT_THAT(streams_.All(), ElementsAre(street, yard));
  const absl::Status none = streams_.Find("gate").status();
  EXPECT_TRUE(absl::IsNotFound(none));
  EXPECT_EQ(none.message(), "there is no stream 'gate'; there are 'street', 'yard'");
  EXPECT_EQ(streams_.Find("").status().message(), "name a stream, one of 'street', 'yard'");
}

TEST_F(StreamRegistryTest, EmptyNameMeansTheOnlyStream) {
  EXPECT_EQ(streams_.Find("").status().message(),
            "there are no streams; add one with CreateStream");
  const SharedStream street = Start("street");
  ASSERT_TRUE(streams_.Add(street).ok());
  EXPECT_EQ(*streams_.Find(""), street);
}

TEST_F(StreamRegistryTest, ANameIsTakenOnceUntilItIsFree) {
  const SharedStream first = Start("street");
  const SharedStream second = Start("street");
  ASSERT_TRUE(streams_.Add(first).ok());
  EXPECT_TRUE(absl::IsAlreadyExists(streams_.Add(second)));
  ASSERT_TRUE(streams_.Replace(second).ok());
  EXPECT_EQ(*streams_.Find("street"), second);
  streams_.Remove(second);
  EXPECT_THAT(streams_.All(), ElementsAre());
  EXPECT_TRUE(streams_.Add(first).ok());
}

TEST_F(StreamRegistryTest, OnceStoppedNothingTakesThePlaceOfWhatWasThere) {
  const SharedStream first = Start("street");
  ASSERT_TRUE(streams_.Add(first).ok());
  streams_.Stop();
  EXPECT_TRUE(absl::IsCancelled(streams_.Replace(Start("street"))));
  EXPECT_EQ(*streams_.Find("street"), first);
}

TEST_F(StreamRegistryTest, EachLifeOfAStreamHasItsOwnRunId) {
  EXPECT_NE(Start("street")->run_id, Start("street")->run_id);
}

TEST_F(StreamRegistryTest, StopEndsAllOfThemAndTakesNoMore) {
  ASSERT_TRUE(streams_.Add(Start("street")).ok());
  ASSERT_TRUE(streams_.Add(Start("yard")).ok());
  streams_.Stop();
  streams_.Stop();
  for (const SharedStream& served : streams_.All()) EXPECT_TRUE(served->stream->ring().closed());
  EXPECT_TRUE(absl::IsCancelled(streams_.Add(Start("gate"))));
}

TEST_F(StreamRegistryTest, StopEndsAllOfThemWhereTheSystemHasNoThreadLeft) {
  ASSERT_TRUE(streams_.Add(Start("street")).ok());
  ASSERT_TRUE(streams_.Add(Start("yard")).ok());
  {
    const NoMoreThreads no_more_threads;
    streams_.Stop();
  }
  for (const SharedStream& served : streams_.All()) EXPECT_TRUE(served->stream->ring().closed());
}

}  // namespace
}  // namespace millrace::service
