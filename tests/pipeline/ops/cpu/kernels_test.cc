// The loops for all kinds of processors must give the same results except for rounding. The tests
// of the operators show that the results are right, with the machine's best kind.
#include "pipeline/ops/cpu/kernels.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::pipeline::kernels {
namespace {

using ::testing::FloatNear;
using ::testing::Pointwise;

std::vector<const Kernels*> OfThisMachine() {
  std::vector<const Kernels*> all = {&Best()};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) all.push_back(&Avx2());
#endif
  return all;
}

std::vector<float> Random(std::size_t count) {
  static std::mt19937 random(7);
  std::vector<float> values(count);
  for (float& value : values) value = std::normal_distribution<float>()(random);
  return values;
}

constexpr std::int64_t kWidth = 21;

std::vector<float> Gathered(const Kernels& by, std::int64_t inputs, std::int64_t outputs,
                            const std::vector<float>& pixels, const std::vector<float>& weights) {
  std::vector<float> results(kWidth * outputs);
  GatheredRow row{.tap_count = 1,
                  .source_width = kWidth,
                  .source_channels = inputs,
                  .source_stride = inputs,
                  .results = results.data(),
                  .count = kWidth,
                  .channels = outputs,
                  .stride = outputs,
                  .slope = 0.1F};
  row.taps[0] = {
      .row = pixels.data(), .weights = weights.data(), .first = -1, .step = 1, .span = 3};
  by.gather(row);
  return results;
}

TEST(KernelsTest, EveryProcessorsGatherAndWeighMakeTheSame) {
  for (const std::int64_t inputs : {1, 24, 75}) {
    for (const std::int64_t outputs : {2, 16, 24, 48, 64, 75}) {
      const std::vector<float> pixels = Random(kWidth * inputs);
      const std::vector<float> weights = Random(3 * inputs * PaddedCount(outputs));
      const std::vector<float> gradients = Random(kWidth * PaddedCount(outputs));
      const auto weighed = [&](const Kernels& by) {
        std::vector<float> sums(inputs * PaddedCount(outputs));
        by.weigh({.pixels = pixels.data(),
                  .step = inputs,
                  .pixel_channels = inputs,
                  .gradients = gradients.data(),
                  .gradient_channels = PaddedCount(outputs),
                  .count = kWidth,
                  .sums = sums.data()});
        return sums;
      };
      for (const Kernels* by : OfThisMachine()) {
        EXPECT_THAT(
            Gathered(*by, inputs, outputs, pixels, weights),
            Pointwise(FloatNear(1e-3F), Gathered(Plain(), inputs, outputs, pixels, weights)));
        EXPECT_THAT(weighed(*by), Pointwise(FloatNear(1e-3F), weighed(Plain())));
      }
    }
  }
}

TEST(KernelsTest, EveryProcessorsUpdateMakesTheSame) {
  const std::vector<float> given = Random(5000);
  const auto updated = [&given](const Kernels& by, int count, float clip) {
    std::vector<float> gradients(given.begin(), given.begin() + count);
    std::vector<float> values(count, 1);
    std::vector<float> squares(count, 0.5F);
    by.rmsprop({.values = values.data(),
                .gradients = gradients.data(),
                .squares = squares.data(),
                .count = count,
                .decay = 0.9F,
                .fresh = 0.1F,
                .rate = 0.01F,
                .eps = 1e-8F,
                .weight_decay = 0.1F,
                .clip = clip});
    values.insert(values.end(), squares.begin(), squares.end());
    return values;
  };
  for (const Kernels* by : OfThisMachine()) {
    for (const int count : {static_cast<int>(kWidth), 37, 5000}) {
      const std::vector<float> whole = updated(Plain(), count, 0);
      for (const float clip : {0.0F, 0.1F, 10.0F}) {
        const std::vector<float> expected = updated(Plain(), count, clip);
        EXPECT_THAT(updated(*by, count, clip), Pointwise(FloatNear(1e-6F), expected)) << count;
        if (clip != 0.1F) {
          EXPECT_THAT(expected, Pointwise(FloatNear(1e-6F), whole)) << "it clips nothing";
        } else {
          EXPECT_NE(expected, whole) << count;
        }
      }
    }
  }
}

TEST(KernelsTest, OneValueThatIsTooLargeIsFoundWhereverItIs) {
  std::vector<const Kernels*> all = OfThisMachine();
  all.push_back(&Plain());
  for (const Kernels* by : all) {
    std::vector<float> values(37, std::nextafter(-1024.0F, 0.0F));
    EXPECT_TRUE(by->all_below(values.data(), 37, 10));
    for (std::size_t i = 0; i < values.size(); ++i) {
      for (const float bad : {1024.0F, -1e30F, std::nanf("")}) {
        std::vector<float> with = values;
        with[i] = bad;
        EXPECT_FALSE(by->all_below(with.data(), 37, 10));
      }
    }
  }
}

TEST(KernelsTest, OneValueThatIsNotFiniteIsFoundWhereverItIs) {
  std::vector<const Kernels*> all = OfThisMachine();
  all.push_back(&Plain());
  for (const Kernels* by : all) {
    std::vector<float> values(37, std::numeric_limits<float>::max());
    EXPECT_TRUE(by->all_below(values.data(), 37, 128));
    for (std::size_t i = 0; i < values.size(); ++i) {
      for (const float bad : {std::nanf(""), -std::numeric_limits<float>::infinity()}) {
        std::vector<float> with = values;
        with[i] = bad;
        EXPECT_FALSE(by->all_below(with.data(), 37, 128));
      }
    }
  }
}

}  // namespace
}  // namespace millrace::pipeline::kernels
