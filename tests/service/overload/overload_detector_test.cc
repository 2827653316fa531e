#include "service/overload/overload_detector.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::service {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A period of a stream.
struct Phase {
  double seconds = 0;
  double received = 25;  // A second, as the next.
  double pushed_out = 0;
  int update_every = 1;
  bool working = true;
  double delay_s = 0.05;
  double promised_rate = 25;
  double promised_delay_s = 0.05;
};

/// Checks a stream twice a second, as HealthReporter does.
class Stream {
 public:
  OverloadKind Run(const Phase& phase) {
    const int checks = static_cast<int>(std::ceil(phase.seconds * 2));
    for (int check = 0; check < checks; ++check) {
      now_ += milliseconds(500);
      received_ += phase.received / 2;
      pushed_out_ += phase.pushed_out / 2;
      const auto received = static_cast<std::uint64_t>(received_);
      const auto pushed_out = static_cast<std::uint64_t>(pushed_out_);
      const OverloadKind before = detector.kind();
      detector.Record({.now = now_,
                       .received = received,
                       .predicted = received - pushed_out,
                       .pushed_out = pushed_out,
                       .working = phase.working,
                       .update_every = phase.update_every,
                       .delay_s = phase.delay_s,
                       .promise = {.frames_per_second = phase.promised_rate,
                                   .delay_s = phase.promised_delay_s}});
      for (const OverloadKind kind : kOverloadKinds) {
        const bool worse = detector.kind() >= kind;
        if (worse != (before >= kind)) changes[kind].push_back(now_);
      }
    }
    return detector.kind();
  }

  OverloadDetector detector;
  /// When it was said, or no longer, that it is that bad or worse.
  std::map<OverloadKind, std::vector<nanoseconds>> changes;

 private:
  nanoseconds now_ = seconds(3600);
  double received_ = 0;
  double pushed_out_ = 0;
};

struct KindCase {
  std::string name;
  Phase phase;
  OverloadKind kind;
};

void PrintTo(const KindCase& one, std::ostream* out) { *out << one.name; }

class OverloadKindTest : public ::testing::TestWithParam<KindCase> {};

TEST_P(OverloadKindTest, IsSaidAfterTenSecondsAndNotBefore) {
  Stream stream;
  stream.Run({.seconds = 20});
  Phase phase = GetParam().phase;
  phase.seconds = 7.5;  // A span of two seconds may have begun before.
  EXPECT_EQ(stream.Run(phase), OverloadKind::kNone);
  phase.seconds = 12;
  EXPECT_EQ(stream.Run(phase), GetParam().kind);
  phase.seconds = 60;
  EXPECT_EQ(stream.Run(phase), GetParam().kind);
  EXPECT_EQ(stream.Run({.seconds = 7.5}), GetParam().kind) << "over for less than ten seconds";
  EXPECT_EQ(stream.Run({.seconds = 6}), OverloadKind::kNone);
}

INSTANTIATE_TEST_SUITE_P(
    Each, OverloadKindTest,
    ::testing::Values(
        KindCase{"all predicted", {}, OverloadKind::kNone},
        KindCase{"one frame in a hundred dropped", {.pushed_out = 0.25}, OverloadKind::kNone},
        KindCase{"four of five dropped", {.pushed_out = 20}, OverloadKind::kDrops},
        KindCase{"one of ten dropped", {.pushed_out = 2.5}, OverloadKind::kDrops},
        KindCase{"a fast camera", {.received = 200, .pushed_out = 190}, OverloadKind::kDrops},
        KindCase{"a slow one", {.received = 2, .pushed_out = 1}, OverloadKind::kDrops},
        KindCase{"one in four learned from", {.update_every = 4}, OverloadKind::kLearnsLess},
        KindCase{"none learned from", {.update_every = 0}, OverloadKind::kOnlyPredicts},
        KindCase{"none learned from and most dropped",
                 {.pushed_out = 20, .update_every = 0},
                 OverloadKind::kDrops},
        KindCase{"a camera that is away", {.received = 0, .working = false}, OverloadKind::kNone},
        KindCase{"paused", {.working = false}, OverloadKind::kNone}),
    [](const auto& test) {
      std::string name = test.param.name;
      std::ranges::replace(name, ' ', '_');
      return name;
    });

TEST(OverloadDetectorTest, ABurstIsNoOverload) {
  Stream stream;
  for (int i = 0; i < 20; ++i) {
    stream.Run({.seconds = 6, .pushed_out = 20});
    EXPECT_EQ(stream.Run({.seconds = 6}), OverloadKind::kNone);
  }
}

TEST(OverloadDetectorTest, APauseBetweenBurstsDoesNotEndIt) {
  Stream stream;
  stream.Run({.seconds = 20, .pushed_out = 20});
  for (int i = 0; i < 20; ++i) {
    stream.Run({.seconds = 6});
    EXPECT_EQ(stream.Run({.seconds = 6, .pushed_out = 20}), OverloadKind::kDrops);
  }
  EXPECT_EQ(stream.changes[OverloadKind::kDrops].size(), 1U);
}

TEST(OverloadDetectorTest, NeverSaysThatLearningFromEveryFrameIsAnOverload) {
  Stream stream;
  EXPECT_EQ(stream.Run({.seconds = 20, .update_every = 4}), OverloadKind::kLearnsLess);
  EXPECT_EQ(stream.detector.overload().update_every, 4);
  // It learns from every frame again, for less than ten seconds.
  EXPECT_EQ(stream.Run({.seconds = 6}), OverloadKind::kLearnsLess);
  EXPECT_EQ(stream.detector.overload().update_every, 4);
  EXPECT_EQ(stream.Run({.seconds = 6}), OverloadKind::kNone);
  EXPECT_EQ(stream.detector.overload().update_every, 1);
}

TEST(OverloadDetectorTest, ItIsOverOnceTheCameraHasBeenAwayForLong) {
  Stream stream;
  stream.Run({.seconds = 20, .pushed_out = 20});
  EXPECT_EQ(stream.Run({.seconds = 4, .received = 0, .working = false}), OverloadKind::kDrops);
  EXPECT_EQ(stream.Run({.seconds = 10, .received = 0, .working = false}), OverloadKind::kNone);
}

TEST(OverloadDetectorTest, JudgesACameraOfOneFrameInFiveSecondsOverLongerSpans) {
  Stream stream;
  EXPECT_EQ(stream.Run({.seconds = 70, .received = 0.2, .pushed_out = 0.1}), OverloadKind::kNone);
  EXPECT_EQ(stream.Run({.seconds = 70, .received = 0.2, .pushed_out = 0.1}), OverloadKind::kDrops);
}

TEST(OverloadDetectorTest, SaysHowManyOfHowManyOverTheLastTenSeconds) {
  Stream stream;
  stream.Run({.seconds = 60, .received = 25, .pushed_out = 5});
  stream.Run({.seconds = 14, .received = 30, .pushed_out = 24});
  const Overload overload = stream.detector.overload();
  EXPECT_NEAR(overload.received_per_second, 30, 0.5);
  EXPECT_NEAR(overload.dropped_per_second, 24, 0.5);
  EXPECT_NEAR(overload.predicted_per_second, 6, 0.5);
}

TEST(OverloadDetectorTest, APromiseIsBrokenAfterTenSecondsAndKeptAfterTenMore) {
  Stream stream;
  const Phase kept{.seconds = 20};
  const Phase slow{.seconds = 20, .pushed_out = 20, .delay_s = 0.2};
  stream.Run(kept);
  EXPECT_TRUE(stream.detector.rate_kept());
  EXPECT_TRUE(stream.detector.delay_kept());
  stream.Run({.seconds = 7.5, .pushed_out = 20, .delay_s = 0.2});
  EXPECT_TRUE(stream.detector.rate_kept());
  EXPECT_TRUE(stream.detector.delay_kept());
  stream.Run(slow);
  EXPECT_FALSE(stream.detector.rate_kept());
  EXPECT_FALSE(stream.detector.delay_kept());
  stream.Run(kept);
  EXPECT_TRUE(stream.detector.rate_kept());
  EXPECT_TRUE(stream.detector.delay_kept());
}

TEST(OverloadDetectorTest, APlanThatPromisedNoMoreKeepsItsPromiseWhileItDrops) {
  Stream stream;
  EXPECT_EQ(stream.Run({.seconds = 30, .pushed_out = 20, .promised_rate = 5}),
            OverloadKind::kDrops);
  EXPECT_TRUE(stream.detector.rate_kept());
}

TEST(OverloadDetectorTest, ACameraThatSendsLessThanWasPromisedBreaksNoPromise) {
  Stream stream;
  stream.Run({.seconds = 30, .received = 8});
  EXPECT_TRUE(stream.detector.rate_kept());
}

// Whatever happens: what is said stays said for ten seconds, and what lasts is said.
TEST(OverloadDetectorTest, NeverFlapsAndNeverMisses) {
  std::mt19937 random(7);
  const auto pick = [&](double min, double max) {
    return std::uniform_real_distribution(min, max)(random);
  };
  for (int run = 0; run < 300; ++run) {
    Stream stream;
    for (int i = 0; i < 30; ++i) {
      const double received = pick(1, 120);
      stream.Run({.seconds = pick(0.5, 25),
                  .received = received,
                  .pushed_out = received * std::max(0.0, pick(-1, 1)),
                  .update_every = static_cast<int>(pick(0, 5)),
                  .working = pick(0, 1) > 0.2});
    }
    EXPECT_EQ(stream.Run({.seconds = 30, .received = 25, .pushed_out = 2}), OverloadKind::kDrops);
    EXPECT_EQ(stream.Run({.seconds = 30}), OverloadKind::kNone);
    for (const auto& [kind, times] : stream.changes) {
      for (std::size_t i = 1; i < times.size(); ++i) {
        EXPECT_GE(times[i] - times[i - 1], seconds(10)) << Name(kind) << " in run " << run;
      }
    }
  }
}

TEST(DebouncedFlagTest, NeedsThreeSpansHoweverLong) {
  DebouncedFlag flag;
  flag.Add(seconds(30), true);
  flag.Add(seconds(30), true);
  EXPECT_FALSE(flag.value());
  flag.Add(seconds(30), true);
  EXPECT_TRUE(flag.value());
}

TEST(DebouncedFlagTest, AnUnknownValueKeepsTheCurrentOne) {
  DebouncedFlag flag;
  for (int i = 0; i < 5; ++i) flag.Add(seconds(2), true);
  EXPECT_TRUE(flag.value());
  for (int i = 0; i < 50; ++i) {
    flag.Add(seconds(8), false);
    flag.Add(seconds(2), std::nullopt);
  }
  EXPECT_TRUE(flag.value());
}

}  // namespace
}  // namespace millrace::service
