#include "pipeline/decisions/adaptive_window.h"

#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

// Losses like those of a video: around `mean`, each resembling the one before.
class Losses {
 public:
  Losses(std::uint64_t seed, double correlation) : random_(seed), correlation_(correlation) {}

  double Next(double mean) {
    const double fresh = std::sqrt(1 - correlation_ * correlation_);
    noise_ = correlation_ * noise_ + fresh * normal_(random_);
    return mean + 0.05 * noise_;
  }

 private:
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  const double correlation_;
  double noise_ = 0;
};

// The number of values until the first change is seen; -1 if it is not within `max`.
int DelayOf(AdaptiveWindow& window, const std::function<double()>& next, int max) {
  for (int i = 1; i <= max; ++i) {
    if (window.Add(next())) return i;
  }
  return -1;
}

class AdaptiveWindowOnNoise : public ::testing::TestWithParam<double> {};

TEST_P(AdaptiveWindowOnNoise, TakesNoiseForAChangeAtMostOnceInTenThousand) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Losses losses(seed, GetParam());
    AdaptiveWindow window;
    int alarms = 0;
    for (int i = 0; i < 10000; ++i) alarms += window.Add(losses.Next(0.8)) ? 1 : 0;
    EXPECT_LE(alarms, 1) << "seed " << seed;
  }
}

TEST_P(AdaptiveWindowOnNoise, SeesAChangeWithinTwoHundredValues) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Losses losses(seed, GetParam());
    AdaptiveWindow window;
    for (int i = 0; i < 2000; ++i) static_cast<void>(window.Add(losses.Next(0.6)));
    const int delay = DelayOf(
        window, [&] { return losses.Next(0.9); }, 200);
    EXPECT_GT(delay, 0) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Correlations, AdaptiveWindowOnNoise, ::testing::Values(0, 0.5, 0.8, 0.9),
                         [](const auto& of) {
                           return "Percent" + std::to_string(static_cast<int>(100 * of.param));
                         });

TEST(AdaptiveWindowTest, ForgetsWhatWasBeforeAChange) {
  Losses losses(1, 0.5);
  AdaptiveWindow window;
  for (int i = 0; i < 4000; ++i) static_cast<void>(window.Add(losses.Next(0.4)));
  EXPECT_EQ(window.width(), 4000);
  for (int i = 0; i < 1000; ++i) static_cast<void>(window.Add(losses.Next(0.9)));
  EXPECT_LT(window.width(), 1100);
  EXPECT_NEAR(window.mean(), 0.9, 0.03);
}

TEST(AdaptiveWindowTest, SaysFromWhatToWhat) {
  Losses losses(2, 0);
  AdaptiveWindow window;
  for (int i = 0; i < 1000; ++i) static_cast<void>(window.Add(losses.Next(0.9)));
  std::optional<AdaptiveWindow::Change> change;
  for (int i = 0; i < 200 && !change; ++i) change = window.Add(losses.Next(0.5));
  ASSERT_TRUE(change);
  EXPECT_NEAR(change->before, 0.9, 0.02);
  EXPECT_LT(change->after, change->before - 0.05) << "what follows is seen early";
}

// The window keeps a few sums: they must be those of the values.
TEST(AdaptiveWindowTest, KeepsTheMeanOfItsValues) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform(0, 1);
  AdaptiveWindow window;
  std::vector<double> values;
  for (int i = 0; i < 5000; ++i) {
    values.push_back(uniform(random) + (i > 2500 ? 1 : 0));
    static_cast<void>(window.Add(values.back()));
    double sum = 0;
    for (std::size_t k = values.size() - window.width(); k < values.size(); ++k) sum += values[k];
    ASSERT_NEAR(window.mean(), sum / static_cast<double>(window.width()), 1e-9) << i;
  }
}

TEST(AdaptiveWindowTest, AStepOfConstantsIsAChange) {
  AdaptiveWindow window;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(window.Add(1));
  EXPECT_GT(DelayOf(
                window, [] { return 2.0; }, 200),
            0);
}

}  // namespace
}  // namespace millrace::pipeline
