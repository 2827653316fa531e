#include "pipeline/decisions/late_labels.h"

#include <atomic>
#include <string>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

SampleLabel Class(std::int64_t number) { return number; }

// The samples that a step learns from.
std::vector<std::int64_t> SamplesOf(LateLabels& labels, std::int64_t step) {
  std::vector<std::int64_t> samples;
  for (const auto& labelled : labels.Labels(step)) samples.push_back(labelled.sample);
  return samples;
}

class LateLabelsTest : public ::testing::Test {
 protected:
  // Adds samples without labels.
  void Admit(std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) labels_.Admit(i, {});
  }
  LateLabels labels_{{.window = 4, .in_flight = 2}};
};

TEST_F(LateLabelsTest, LabelCountsFromTheNextStepUntilItsSampleLeaves) {
  Admit(10);
  EXPECT_THAT(SamplesOf(labels_, 5), IsEmpty());
  EXPECT_TRUE(labels_.Add(5, Class(3)).ok());
  EXPECT_THAT(SamplesOf(labels_, 5), IsEmpty()) << "the step had begun without it";
  for (const std::int64_t step : {6, 7, 8}) EXPECT_THAT(SamplesOf(labels_, step), ElementsAre(5));
  EXPECT_THAT(SamplesOf(labels_, 9), IsEmpty());
}

TEST_F(LateLabelsTest, LabelThatCameWithItsSampleCountsFromItsOwnStep) {
  labels_.Admit(0, Class(7));
  labels_.Admit(1, {});
  ASSERT_TRUE(labels_.Add(1, Class(8)).ok());
  const auto first = labels_.Labels(0);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(std::get<std::int64_t>(first[0].label), 7);
  EXPECT_THAT(SamplesOf(labels_, 1), ElementsAre(0, 1));
  EXPECT_EQ(labels_.figures().in_time, 2);
}

TEST(LateLabelsFromTest, SamplesCountFromWhereItGoesOn) {
  LateLabels labels({.window = 4, .in_flight = 2, .first = 25});
  EXPECT_EQ(std::string(labels.Add(25, Class(0)).message()),
            "there is no sample 25; no sample has come in yet");
  for (std::int64_t i = 25; i < 28; ++i) labels.Admit(i, Class(i));
  EXPECT_EQ(std::string(labels.Add(24, Class(0)).message()),
            "there is no sample 24; 25 to 27 have come in");
  EXPECT_THAT(SamplesOf(labels, 25), ElementsAre(25));
  EXPECT_THAT(SamplesOf(labels, 27), ElementsAre(25, 26, 27));
}

TEST_F(LateLabelsTest, AWithdrawnSampleTakesItsLabelWithItAndTheNextHasItsNumber) {
  labels_.Admit(0, Class(1));
  labels_.Admit(1, Class(2));
  labels_.Withdraw();
  EXPECT_EQ(labels_.figures().in_time, 1);
  EXPECT_EQ(labels_.Add(1, Class(3)).code(), absl::StatusCode::kNotFound);
  labels_.Admit(1, {});
  EXPECT_THAT(SamplesOf(labels_, 1), ElementsAre(0));
}

TEST_F(LateLabelsTest, ALabelIsFreshInTheFirstStepThatItCountsInAndInNoOther) {
  labels_.Admit(0, Class(7));
  for (std::int64_t i = 1; i < 6; ++i) labels_.Admit(i, {});
  const auto fresh = [&](std::int64_t step) {
    std::vector<std::int64_t> samples;
    for (const auto& labelled : labels_.Labels(step)) {
      if (labelled.fresh) samples.push_back(labelled.sample);
    }
    return samples;
  };
  EXPECT_THAT(fresh(0), ElementsAre(0));
  EXPECT_THAT(fresh(1), IsEmpty());
  ASSERT_TRUE(labels_.Add(1, Class(1)).ok());  // Late.
  ASSERT_TRUE(labels_.Add(4, Class(1)).ok());  // Early.
  EXPECT_THAT(fresh(2), ElementsAre(1));
  EXPECT_THAT(fresh(3), IsEmpty());
  EXPECT_THAT(fresh(2), ElementsAre(1)) << "as often as it asks";
  EXPECT_THAT(fresh(4), ElementsAre(4));
  EXPECT_THAT(fresh(5), IsEmpty());
}

TEST_F(LateLabelsTest, LabelsThatAreGivenUpTeachNoStepThatHasNotBegun) {
  for (std::int64_t i = 0; i < 6; ++i) labels_.Admit(i, i < 3 ? SampleLabel(i) : SampleLabel(9));
  EXPECT_THAT(SamplesOf(labels_, 1), ElementsAre(0, 1));
  labels_.GiveUp();
  EXPECT_THAT(SamplesOf(labels_, 1), ElementsAre(0, 1)) << "asked again";
  EXPECT_THAT(SamplesOf(labels_, 2), IsEmpty());
  EXPECT_TRUE(absl::IsAlreadyExists(labels_.Add(2, Class(1))));
  labels_.Admit(6, Class(1));
  EXPECT_THAT(SamplesOf(labels_, 6), ElementsAre(6)) << "those that come later teach";
}

// A forward that is run again must meet what it met the first time.
TEST_F(LateLabelsTest, StepThatAsksAgainGetsWhatItGot) {
  Admit(8);
  ASSERT_TRUE(labels_.Add(2, Class(1)).ok());
  for (const std::int64_t step : {0, 1, 2, 3}) SamplesOf(labels_, step);
  ASSERT_TRUE(labels_.Add(3, Class(1)).ok());
  EXPECT_THAT(SamplesOf(labels_, 3), ElementsAre(2));
  EXPECT_THAT(SamplesOf(labels_, 4), ElementsAre(2, 3));
  EXPECT_THAT(SamplesOf(labels_, 2), ElementsAre(2));
}

TEST_F(LateLabelsTest, LabelOfASampleThatLeftIsRefusedAndNamesTheWindow) {
  Admit(10);
  SamplesOf(labels_, 6);
  EXPECT_TRUE(labels_.Add(4, Class(0)).ok()) << "step 7 still has it";
  const absl::Status refused = labels_.Add(3, Class(0));
  EXPECT_TRUE(absl::IsOutOfRange(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("the last 4 samples are learned from, now 4 and later"));
  EXPECT_EQ(labels_.figures().too_late, 1);
  EXPECT_EQ(labels_.figures().late, 1);
}

TEST_F(LateLabelsTest, LabelOfNoSampleIsRefused) {
  Admit(3);
  EXPECT_TRUE(absl::IsNotFound(labels_.Add(3, Class(0))));
  EXPECT_TRUE(absl::IsNotFound(labels_.Add(-1, Class(0))));
  EXPECT_EQ(labels_.figures().unknown, 2);
}

TEST_F(LateLabelsTest, FirstLabelOfASampleStays) {
  Admit(3);
  ASSERT_TRUE(labels_.Add(1, Class(5)).ok());
  const absl::Status second = labels_.Add(1, Class(6));
  EXPECT_TRUE(absl::IsAlreadyExists(second)) << second;
  const auto labels = labels_.Labels(2);
  ASSERT_EQ(labels.size(), 1U);
  EXPECT_EQ(std::get<std::int64_t>(labels[0].label), 5);
  EXPECT_EQ(labels_.figures().repeated, 1);
}

TEST_F(LateLabelsTest, WindowOfOneIsPlainOnlineLearning) {
  LateLabels labels({.window = 1});
  for (std::int64_t step = 0; step < 5; ++step) {
    labels.Admit(step, Class(step));
    EXPECT_THAT(SamplesOf(labels, step), ElementsAre(step));
    EXPECT_TRUE(absl::IsOutOfRange(labels.Add(step, Class(0))));
  }
}

TEST_F(LateLabelsTest, EveryNthStepWithLabelsLearnsAndAllHaveThem) {
  LateLabels labels({.window = 1, .in_flight = 20});
  for (std::int64_t i = 0; i < 12; ++i) {  // Every second sample has a label.
    labels.Admit(i, i % 2 == 1 ? std::optional(Class(i)) : std::nullopt, /*learn_from_every=*/3);
  }
  std::vector<std::int64_t> learned;
  for (std::int64_t i = 0; i < 12; ++i) {
    EXPECT_THAT(SamplesOf(labels, i), SizeIs(i % 2));
    if (labels.Learns(i)) learned.push_back(i);
  }
  EXPECT_THAT(learned, ElementsAre(5, 11));
  labels.Admit(12, Class(1), /*learn_from_every=*/0);
  EXPECT_THAT(SamplesOf(labels, 12), ElementsAre(12));
  EXPECT_FALSE(labels.Learns(12));
  labels.Admit(13, Class(1));
  EXPECT_THAT(SamplesOf(labels, 13), ElementsAre(13));
  EXPECT_TRUE(labels.Learns(13));
}

TEST_F(LateLabelsTest, RemembersMoreStepsWhenMoreAreInFlight) {
  labels_.Remember(5);
  labels_.Remember(1);  // Never fewer.
  for (std::int64_t i = 0; i < 8; ++i) labels_.Admit(i, Class(i));
  SamplesOf(labels_, 7);
  EXPECT_THAT(SamplesOf(labels_, 2), ElementsAre(0, 1, 2));
  EXPECT_TRUE(labels_.Learns(2));
}

TEST_F(LateLabelsTest, ValuesAreLabelsToo) {
  labels_.Admit(0, std::vector<float>{1, 2});
  EXPECT_THAT(std::get<std::vector<float>>(labels_.Labels(0)[0].label), ElementsAre(1, 2));
}

// What a client, the thread that admits and two stages do at once. Every label is counted once.
TEST_F(LateLabelsTest, ThreadsMayCallAtOnce) {
  constexpr std::int64_t kSamples = 2000;
  LateLabels labels({.window = 16, .in_flight = kSamples});
  std::atomic<std::int64_t> admitted = 0;
  {
    const std::jthread client([&] {
      for (std::int64_t i = 0; i < kSamples; ++i) labels.Add(i, Class(i)).IgnoreError();
    });
    const auto judge = [&] {
      for (std::int64_t step = 0; step < kSamples; ++step) {
        while (admitted <= step) std::this_thread::yield();
        EXPECT_EQ(SamplesOf(labels, step), SamplesOf(labels, step));
      }
    };
    const std::jthread first(judge);
    const std::jthread last(judge);
    for (std::int64_t i = 0; i < kSamples; ++i) {
      labels.Admit(i, {});
      admitted = i + 1;
    }
  }
  const LabelFigures f = labels.figures();
  EXPECT_EQ(f.in_time + f.late + f.too_late + f.unknown + f.repeated, kSamples);
}

}  // namespace
}  // namespace millrace::pipeline
