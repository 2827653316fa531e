#include "pipeline/decisions/typical_value.h"

#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

TEST(TypicalValueTest, IsTheMeanOfValuesThatAreAlike) {
  TypicalValue value;
  EXPECT_EQ(value.mean(), 0);
  for (int i = 0; i < 500; ++i) value.Add(1 + i % 2);
  EXPECT_NEAR(value.mean(), 1.5, 0.01);
}

TEST(TypicalValueTest, OneAbsurdValueMovesItLittle) {
  TypicalValue value;
  for (int i = 0; i < 100; ++i) value.Add(1);
  value.Add(1e12);
  EXPECT_LT(value.mean(), 1.1);
}

TEST(TypicalValueTest, NorIfItIsTheFirst) {
  TypicalValue value;
  value.Add(1e12);
  for (int i = 0; i < 30; ++i) value.Add(1);
  EXPECT_NEAR(value.mean(), 1, 0.01);
}

TEST(TypicalValueTest, FollowsAChangeOfScale) {
  TypicalValue value;
  for (int i = 0; i < 10'000; ++i) value.Add(1);
  for (int i = 0; i < 2000; ++i) value.Add(1000);
  EXPECT_GT(value.mean(), 500);
  for (int i = 0; i < 10'000; ++i) value.Add(1);
  EXPECT_LT(value.mean(), 2);
}

TEST(TypicalValueTest, BeginsWithTheFirstValueThatIsNotZero) {
  TypicalValue value;
  for (int i = 0; i < 99; ++i) value.Add(0);
  value.Add(5);
  EXPECT_DOUBLE_EQ(value.mean(), 0.05);
}

}  // namespace
}  // namespace millrace::pipeline
