// Ranks that run the parts of one plan, joined by wires.
#include "pipeline/plan/plan_part.h"

#include <map>
#include <random>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/plan/plan_checker.h"
#include "pipeline/plan/plan_cursor.h"
#include "tests/pipeline/support/fake_wires.h"
#include "tests/pipeline/support/random_plan.h"
#include "tests/pipeline/support/schedule_cases.h"

namespace millrace::pipeline {
namespace {

using enum OperationKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kSamples = 24;

using Ranks = std::vector<int>;  // By stage.

// All ways to give runs of stages to two ranks or more.
std::vector<Ranks> AllRanks(int stages) {
  std::vector<Ranks> all;
  for (unsigned cuts = 1; cuts < 1U << (stages - 1); ++cuts) {
    Ranks ranks(stages, 0);
    for (int stage = stages - 2; stage >= 0; --stage) {
      ranks[stage] = ranks[stage + 1] + ((cuts >> stage) & 1U ? 1 : 0);
    }
    all.push_back(ranks);
  }
  return all;
}

std::vector<Plan> PartsOf(const Plan& plan, const Ranks& ranks) {
  std::vector<Plan> parts;
  for (int rank = 0; rank <= ranks.front(); ++rank) {
    auto part = PartOf(plan, ranks, rank);
    EXPECT_TRUE(part.ok()) << part.status();
    parts.push_back(*std::move(part));
  }
  return parts;
}

// One tensor on its way between two ranks.
struct Message {
  OperationKind kind = kForward;  // Activations, or gradients.
  int from = 0;                   // The stages of its channel.
  int to = 0;
  std::int64_t sample = 0;

  auto operator<=>(const Message&) const = default;
};

// Whether the operation that makes the message's tensor runs at all.
bool IsMade(const Plan& part, const Message& message) {
  const int maker = message.kind == kForward ? message.from : message.to;
  return Exists(part, {message.kind, maker, message.sample, message.sample}, kSamples);
}

// The messages that an operation of a stage elsewhere sends or receives in `part`.
std::vector<Message> MessagesOf(const Plan& part, const Step& step) {
  std::vector<Message> messages;
  if (step.kind != kForward && step.kind != kBackward) return messages;
  for (const Channel& channel : part.channels) {
    const bool touches = channel.from == step.stage || channel.to == step.stage;
    if (channel.from == 0 || !touches || !part.IsOwn(channel)) continue;
    if (step.kind == kBackward && !part.CarriesGradients(channel)) continue;
    for (std::int64_t sample = step.first; sample <= step.last; ++sample) {
      const Message message{step.kind, channel.from, channel.to, sample};
      if (IsMade(part, message)) messages.push_back(message);
    }
  }
  return messages;
}

// All ranks at once, by the parts' dependencies. A transfer ends when both sides have begun it: the
// wires hold nothing. A rank admits a sample when the leader, rank 0, has.
class Together {
 public:
  Together(const std::vector<Plan>& parts, bool reduced) {
    for (const Plan& part : parts) {
      const Dependencies whole(part);
      ranks_.push_back(
          std::make_unique<Rank>(Rank{.part = part,
                                      .dependencies = reduced ? whole.Reduced(part) : whole,
                                      .progress = Progress(part)}));
      for (const PlanCursor& at : CursorsOf(ranks_.back()->part)) {
        ranks_.back()->readers.push_back({.at = at});
      }
    }
  }

  // What waits in the end; empty if all operations on all samples have run.
  std::string Run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (const auto& rank : ranks_) {
        moved = Admit(*rank) || moved;
        for (Reader& reader : rank->readers) moved = GoOn(*rank, reader) || moved;
      }
    }
    std::string waiting;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      for (const Reader& reader : ranks_[i]->readers) {
        if (!reader.ended)
          waiting += "rank " + std::to_string(i) + ": " + ToString(reader.at.step()) + "\n";
      }
    }
    return waiting;
  }

 private:
  struct Reader {
    PlanCursor at;
    bool begun = false;
    bool ended = false;
  };
  struct Rank {
    const Plan part;
    const Dependencies dependencies;
    Progress progress;
    std::vector<Reader> readers = {};
  };

  bool Admit(Rank& rank) {
    const std::int64_t sample = rank.progress.done(kForward, 0);
    const std::int64_t k = rank.part.samples_per_pattern;
    if (sample == kSamples) return false;
    if (&rank != ranks_.front().get() && ranks_.front()->progress.done(kForward, 0) <= sample) {
      return false;
    }
    if (!rank.progress.Meets(rank.dependencies.of_admission(static_cast<int>(sample % k)),
                             sample / k)) {
      return false;
    }
    rank.progress.Complete({kForward, 0, sample, sample});
    return true;
  }

  bool GoOn(Rank& rank, Reader& reader) {
    PlanCursor& at = reader.at;
    bool moved = false;
    for (; !reader.ended; at.Next()) {
      if (HasEnded(rank, at)) {
        for (const Operation& operation : at.order()) rank.progress.SkipRest(operation);
        return reader.ended = true;
      }
      if (at.filling()) continue;
      const Step step = at.step();
      if (!Exists(rank.part, step, kSamples)) {
        rank.progress.Skip(step);
        continue;
      }
      if (!rank.progress.Meets(rank.dependencies.of(at.device(), at.place()), at.pattern())) break;
      if (!rank.part.IsOwn(step.stage) && !Carry(MessagesOf(rank.part, step), reader.begun)) break;
      reader.begun = false;
      rank.progress.Complete(step);
      moved = true;
    }
    return moved;
  }

  // Whether all `messages` have both sides.
  bool Carry(const std::vector<Message>& messages, bool& begun) {
    if (!begun) {
      for (const Message& message : messages) ++sides_[message];
    }
    begun = true;
    return std::ranges::all_of(messages,
                               [&](const Message& message) { return sides_[message] == 2; });
  }

  static bool HasEnded(const Rank& rank, const PlanCursor& at) {
    return at.place() == 0 && std::ranges::all_of(at.order(), [&](const Operation& operation) {
             return StepOf(rank.part, operation, at.period()).first >= kSamples;
           });
  }

  std::vector<std::unique_ptr<Rank>> ranks_;
  std::map<Message, int> sides_;
};

// The outputs of the last stage, and the weight of each stage by its own rank.
struct Learned {
  std::vector<double> outputs;
  std::vector<double> weights;
};

int TagOf(OperationKind kind, const Channel& channel) {
  return (channel.from * 16 + channel.to) * 2 + (kind == kBackward ? 1 : 0);
}

void Carry(Wires& wires, int other, int tag, bool sends, double& value) {
  const auto bytes = std::as_writable_bytes(std::span(&value, 1));
  const auto transfer = sends ? wires.Send(other, tag, bytes) : wires.Receive(other, tag, bytes);
  const absl::Status carried = transfer->Wait();
  EXPECT_TRUE(carried.ok()) << carried;
}

// Each rank has an engine, and each device of it a thread.
Learned ByRanks(const std::vector<Plan>& parts, const Ranks& ranks) {
  FakeWires wires(static_cast<int>(parts.size()));
  std::vector<std::unique_ptr<FakeStages>> stages;
  for (const Plan& part : parts) stages.push_back(std::make_unique<FakeStages>(part, 0.02));
  {
    std::vector<std::jthread> all;
    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
      all.emplace_back([&, rank] {
        const absl::Status run =
            InTheEngine(parts[rank], kSamples, *stages[rank], [&](const Step& step) {
              if (parts[rank].IsOwn(step.stage)) return stages[rank]->Run(step);
              stages[rank]->Carry(
                  step, kSamples,
                  [&](const Channel& channel, std::int64_t /*sample*/, bool sends, double& value) {
                    Carry(wires.of(static_cast<int>(rank)), ranks[step.stage - 1],
                          TagOf(step.kind, channel), sends, value);
                  });
            });
        EXPECT_TRUE(run.ok()) << run;
      });
    }
  }
  Learned learned{.outputs = stages.front()->outputs(), .weights = {}};
  for (std::size_t stage = 0; stage < ranks.size(); ++stage) {
    learned.weights.push_back(stages[ranks[stage]]->weights()[stage]);
  }
  return learned;
}

// The oracle is a serial run of the whole plan.
void ExpectSameAsSerially(const Plan& plan, const Ranks& ranks) {
  const Plan roomy = WithoutBounds(plan, kSamples);
  FakeStages serially(roomy, 0.02);
  Serially(roomy, kSamples, serially);
  const Learned learned = ByRanks(PartsOf(plan, ranks), ranks);
  EXPECT_EQ(learned.outputs, serially.outputs());
  EXPECT_EQ(learned.weights, serially.weights());
}

class PartsOfSchedules : public ::testing::TestWithParam<ScheduleCase> {
 protected:
  void SetUp() override {
    auto plan = MakePlan(GetParam().schedule, GetParam().request);
    ASSERT_TRUE(plan.ok()) << plan.status();
    plan_ = *std::move(plan);
  }
  Plan plan_;
};

TEST_P(PartsOfSchedules, PassTheCheckerWithTheFiguresOfTheWhole) {
  const auto whole = CheckPlan(plan_);
  for (const Ranks& ranks : AllRanks(plan_.stage_count())) {
    for (const Plan& part : PartsOf(plan_, ranks)) {
      const auto figures = CheckPlan(part);
      ASSERT_TRUE(figures.ok()) << figures.status() << testing::PrintToString(ranks);
      for (int stage = 1; stage <= part.stage_count(); ++stage) {
        if (!part.IsOwn(stage)) continue;
        EXPECT_EQ((*figures)[stage - 1].staleness, (*whole)[stage - 1].staleness);
        EXPECT_EQ((*figures)[stage - 1].mismatch, (*whole)[stage - 1].mismatch);
        EXPECT_EQ((*figures)[stage - 1].slots, (*whole)[stage - 1].slots);
      }
    }
  }
}

TEST_P(PartsOfSchedules, NeverStandStillTogether) {
  ScheduleRequest without_skips = GetParam().request;
  without_skips.shape.skips.clear();
  const Plan chain = *MakePlan(GetParam().schedule, without_skips);
  for (const Ranks& ranks : AllRanks(plan_.stage_count())) {
    SCOPED_TRACE(testing::PrintToString(ranks));
    EXPECT_EQ(Together(PartsOf(plan_, ranks), /*reduced=*/true).Run(), "");
    EXPECT_EQ(Together(PartsOf(chain, ranks), /*reduced=*/false).Run(), "");
  }
}

TEST_P(PartsOfSchedules, LearnTogetherWhatOneProcessLearns) {
  const std::vector<Ranks> all = AllRanks(plan_.stage_count());
  if (all.empty()) return;
  std::set<Ranks> some = {all.front(), all.back()};
  if (plan_.stage_count() == 4) some.insert({1, 1, 0, 0});
  for (const Ranks& ranks : some) {
    SCOPED_TRACE(testing::PrintToString(ranks));
    ExpectSameAsSerially(plan_, ranks);
  }
}

INSTANTIATE_TEST_SUITE_P(All, PartsOfSchedules, ::testing::ValuesIn(AllScheduleCases()),
                         [](const auto& test) { return test.param.name; });

// Backwards that use the activations of later samples. In some plans the lead rises from a stage to
// the next.
void AddLeads(Plan& plan, std::mt19937& random) {
  for (StageRules& rules : plan.stages) {
    rules.lead = static_cast<int>(random() % 3);
    rules.slots += rules.lead;
  }
}

// Some random plans stand still by themselves; CheckPlan() refuses these.
TEST(PlanPartTest, PartsOfRandomPlansRunTogetherAsTheWhole) {
  std::mt19937 random(7);
  for (int plans = 0; plans < 150;) {
    Plan plan = RandomPlan(random);
    if (plans % 2 == 0) AddLeads(plan, random);
    if (plan.stage_count() < 2 || !CheckPlan(plan).ok()) continue;
    ++plans;
    const std::vector<Ranks> all = AllRanks(plan.stage_count());
    const Ranks& ranks = all[random() % all.size()];
    SCOPED_TRACE(PatternText(plan) + testing::PrintToString(ranks));
    const std::vector<Plan> parts = PartsOf(plan, ranks);
    for (const Plan& part : parts) {
      const absl::Status checked = CheckPlan(part).status();
      ASSERT_TRUE(checked.ok()) << checked;
    }
    ASSERT_EQ(Together(parts, /*reduced=*/plans % 4 < 2).Run(), "");
    if (plans % 10 == 0) ExpectSameAsSerially(plan, ranks);
  }
}

Plan Neighbours(int stages) { return PlanOf("one_f_one_b_star", stages); }

TEST(PlanPartTest, OwnDevicesKeepTheirOrdersAndStagesElsewhereGetTwo) {
  const Plan plan = Neighbours(3);
  const Plan leader = *PartOf(plan, Ranks{1, 0, 0}, 0);
  ASSERT_EQ(leader.devices.size(), 4u);
  EXPECT_EQ(leader.devices[0], plan.devices[1]);
  EXPECT_EQ(leader.devices[1], plan.devices[2]);
  EXPECT_THAT(leader.devices[2], ElementsAre(testing::Field(&Operation::kind, kForward)));
  EXPECT_EQ(leader.devices[3].size(), 2u);
  EXPECT_EQ(leader.rules(1).rank, StageRank::kEarlier);
  const Plan follower = *PartOf(plan, Ranks{1, 0, 0}, 1);
  EXPECT_EQ(follower.devices.size(), 1u + 2 * 2);
  EXPECT_EQ(follower.devices[0], plan.devices[0]);
  EXPECT_EQ(follower.rules(3).rank, StageRank::kLater);
}

TEST(PlanPartTest, OneRankRunsThePlanAsItIs) {
  const Plan plan = Neighbours(4);
  EXPECT_EQ(*PartOf(plan, Ranks{0, 0, 0, 0}, 0), plan);
}

TEST(PlanPartTest, WrongRanksAreRefusedInWords) {
  const Plan plan = Neighbours(3);
  const auto refusal = [&](const Ranks& ranks, int rank) {
    return std::string(PartOf(plan, ranks, rank).status().message());
  };
  EXPECT_THAT(refusal({1, 0}, 0), HasSubstr("are 1 0; name one for each of 3 stages"));
  EXPECT_THAT(refusal({}, 0), HasSubstr("name one for each of 3 stages"));
  EXPECT_THAT(refusal({0, 0, 1}, 0), HasSubstr("the last stage is on rank 0"));
  EXPECT_THAT(refusal({2, 0, 0}, 0), HasSubstr("they fall from stage to stage, by one"));
  EXPECT_THAT(refusal({0, 1, 0}, 0), HasSubstr("they fall from stage to stage, by one"));
  EXPECT_THAT(refusal({1, 0, 0}, 2), HasSubstr("there is no rank 2; the ranks are 0 to 1"));
  EXPECT_THAT(refusal({1, 0, 0}, -1), HasSubstr("there is no rank -1"));
}

}  // namespace
}  // namespace millrace::pipeline
