// Random orders. The checker accepts an order exactly if it runs when every operation simply waits
// for its inputs and for room. The engine then gives the results of a serial run.
#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "pipeline/plan/plan_checker.h"
#include "tests/pipeline/support/engine_runs.h"
#include "tests/pipeline/support/random_plan.h"

namespace millrace::pipeline {
namespace {

using enum OperationKind;

// A plan by its definition: tries every device over and over until nothing moves.
class ByDefinition {
 public:
  ByDefinition(const Plan& plan, int samples) : plan_(plan), samples_(samples) {
    for (auto& by_stage : done_) {
      by_stage.assign(plan.stage_count() + 1, std::vector<bool>(samples, false));
    }
  }

  // Whether all operations on all samples get to run.
  bool Runs() {
    std::vector<std::size_t> next(plan_.devices.size());
    for (bool moved = true; moved;) {
      moved = Admit();
      for (std::size_t device = 0; device < next.size(); ++device) {
        while (TryNext(plan_.devices[device], next[device])) moved = true;
      }
    }
    for (const auto& order : plan_.devices) {
      for (const Operation& operation : order) {
        const auto& done = done_[static_cast<int>(operation.kind)][operation.stage];
        if (std::find(done.begin(), done.end(), false) != done.end()) return false;
      }
    }
    const auto& admitted = done_[0][0];
    return std::find(admitted.begin(), admitted.end(), false) == admitted.end();
  }

 private:
  // Samples before the first are over.
  [[nodiscard]] bool Done(OperationKind kind, int stage, int sample) const {
    return sample < 0 || done_[static_cast<int>(kind)][stage][sample];
  }

  bool Admit() {
    const auto& admitted = done_[0][0];
    const auto next = std::find(admitted.begin(), admitted.end(), false);
    if (next == admitted.end()) return false;
    const auto sample = static_cast<int>(next - admitted.begin());
    if (!RoomAfter(0, sample)) return false;
    done_[0][0][sample] = true;
    return true;
  }

  // Runs the device's operation number `next` and goes on, if it can.
  bool TryNext(const std::vector<Operation>& order, std::size_t& next) {
    const Operation& operation = order[next % order.size()];
    const int sample = static_cast<int>(next / order.size()) - operation.shift;
    if (sample >= samples_ + 16) return false;  // Nothing of the stream is left.
    if (sample >= 0 && sample < samples_) {
      if (!May(operation, sample)) return false;
      done_[static_cast<int>(operation.kind)][operation.stage][sample] = true;
    }
    ++next;
    return true;
  }

  [[nodiscard]] bool RoomAfter(int stage, int sample) const {
    return std::all_of(plan_.channels.begin(), plan_.channels.end(), [&](const Channel& channel) {
      return channel.from != stage || Done(kForward, channel.to, sample - channel.slots);
    });
  }

  // Whether `stage` needs nothing of `sample` any more but the sums of the gradients.
  [[nodiscard]] bool IsThrough(int stage, int sample) const {
    const bool splits = plan_.rules(stage).splits_backward;
    return Done(kBackward, stage, sample) && (!splits || Done(kWeightGradient, stage, sample));
  }

  [[nodiscard]] bool May(const Operation& operation, int sample) const {
    const int stage = operation.stage;
    if (operation.kind == kUpdate) return IsThrough(stage, sample);
    if (operation.kind == kWeightGradient) return Done(kBackward, stage, sample);
    if (operation.kind == kForward) {
      return RoomAfter(stage, sample) && IsThrough(stage, sample - plan_.rules(stage).slots) &&
             std::all_of(plan_.channels.begin(), plan_.channels.end(), [&](const Channel& channel) {
               return channel.to != stage || Done(kForward, channel.from, sample);
             });
    }
    return Done(kForward, stage, sample) &&
           std::all_of(plan_.channels.begin(), plan_.channels.end(), [&](const Channel& channel) {
             if (channel.from == stage) return Done(kBackward, channel.to, sample);
             return channel.to != stage || channel.from == 0 ||
                    IsThrough(channel.from, sample - channel.gradient_slots);
           });
  }

  const Plan& plan_;
  const int samples_;
  std::array<std::vector<std::vector<bool>>, kOperationKinds> done_;
};

TEST(RandomPlansTest, TheCheckerAcceptsThoseThatRun) {
  std::mt19937 random(3);
  std::array<int, 2> found = {};
  for (int round = 0; round < 20000; ++round) {
    const Plan plan = RandomPlan(random);
    const bool runs = ByDefinition(plan, 40).Runs();
    const absl::Status checked = CheckPlan(plan).status();
    ASSERT_EQ(checked.ok(), runs) << checked << "\n" << PatternText(plan);
    ++found[runs ? 1 : 0];
  }
  EXPECT_GT(found[0], 200);
  EXPECT_GT(found[1], 200);
}

// For random plans of several stages, and streams of `min` to `max` samples.
void ExpectEngineEqualsSerialRun(int plans, int min, int max, std::mt19937& random) {
  while (plans > 0) {
    const Plan plan = RandomPlan(random);
    if (plan.stage_count() < 2 || !CheckPlan(plan).ok()) continue;
    --plans;
    const int samples = min + static_cast<int>(random() % (max - min + 1));
    SCOPED_TRACE(testing::Message() << samples << " samples\n" << PatternText(plan));
    FakeStages in_the_engine(plan, 0.02);
    ASSERT_TRUE(InTheEngine(plan, samples, in_the_engine).ok());
    const Plan roomy = WithoutBounds(plan, samples);
    FakeStages serially(roomy, 0.02);
    Serially(roomy, samples, serially);
    EXPECT_EQ(in_the_engine.outputs(), serially.outputs());
    EXPECT_EQ(in_the_engine.weights(), serially.weights());
  }
}

TEST(RandomPlansTest, TheEngineDoesWhatASerialRunDoes) {
  std::mt19937 random(4);
  ExpectEngineEqualsSerialRun(/*plans=*/30, 40, 40, random);
}

// Where the stream ends, work is skipped that other work has implied.
TEST(RandomPlansTest, TheEngineEndsAsASerialRunDoes) {
  std::mt19937 random(6);
  ExpectEngineEqualsSerialRun(/*plans=*/200, 1, 8, random);
}

}  // namespace
}  // namespace millrace::pipeline
