// A network over several ranks, each a set of threads, joined by wires: equal to the serial oracle
// bit for bit.
#include <thread>

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/plan/plan_part.h"
#include "pipeline/stages/follow_leader.h"
#include "pipeline/stages/network_run.h"
#include "tests/pipeline/support/fake_wires.h"
#include "tests/pipeline/support/small_runs.h"

namespace millrace::pipeline {
namespace {

using ::testing::HasSubstr;
using Ranks = std::vector<int>;  // By stage.

struct Case {
  std::string name;
  SmallRun run;
  Ranks ranks;
};

// One rank: its own chain, plans and engine.
class Rank {
 public:
  Rank(const SmallRun& run, const Ranks& ranks, int own, FakeWires& wires)
      : chain_(run.Chain()), ranks_{wires.of(own), ranks, own, /*epoch=*/3} {
    Phases phases = run.PhasesFor(chain_);
    for (Phase& phase : phases) phase.plan = *PartOf(phase.plan, ranks, own);
    StagedNetwork::Options network = run.OptionsFor(chain_, phases.front().plan, outputs_);
    if (own != 0) network.loss = nullptr;
    network.ranks.emplace(ranks_);
    auto made = NetworkRun::Start({.network = std::move(network), .phases = phases});
    EXPECT_TRUE(made.ok()) << made.status();
    run_ = *std::move(made);
  }

  absl::Status Lead(const std::vector<at::Tensor>& inputs) {
    for (const at::Tensor& input : inputs) {
      const auto admitted = run_->Admit([&] { return input; });
      if (!admitted.ok()) return admitted.status();
    }
    return run_->Drain();
  }

  absl::Status Follow() { return FollowLeader(*run_, ranks_); }

  [[nodiscard]] const std::vector<at::Tensor>& outputs() const { return outputs_; }
  [[nodiscard]] const NetworkStore& store() const { return run_->network().store(); }
  [[nodiscard]] std::int64_t updates(int stage) const {
    return run_->network().updates()[stage - 1];
  }

 private:
  const LayerChain chain_;
  const RankWires ranks_;
  std::vector<at::Tensor> outputs_;
  std::unique_ptr<NetworkRun> run_;
};

// The state of each stage is from its own rank.
Outcome Together(const SmallRun& run, const Ranks& ranks, const std::vector<at::Tensor>& inputs) {
  FakeWires wires(ranks.front() + 1, /*seed=*/7);
  std::vector<std::unique_ptr<Rank>> all;
  for (int rank = 0; rank <= ranks.front(); ++rank) {
    all.push_back(std::make_unique<Rank>(run, ranks, rank, wires));
  }
  {
    std::vector<std::jthread> threads;
    for (const auto& rank : all) {
      threads.emplace_back([&] {
        at::set_num_threads(1);
        const absl::Status done = rank == all.front() ? rank->Lead(inputs) : rank->Follow();
        EXPECT_TRUE(done.ok()) << done;
      });
    }
  }
  Outcome outcome{.outputs = all.front()->outputs(), .parameters = {}, .updates = {}};
  for (int stage = 1; stage <= static_cast<int>(ranks.size()); ++stage) {
    const Rank& owner = *all[ranks[stage - 1]];
    for (const at::Tensor& value : Values(owner.store().stage(stage).parameters())) {
      outcome.parameters.push_back(value);
    }
    outcome.updates.push_back(owner.updates(stage));
  }
  return outcome;
}

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  const auto add = [&](const SmallRun& run, const Ranks& ranks) {
    std::string name = run.schedule + "_";
    for (const int rank : ranks) name += std::to_string(rank);
    cases.push_back({name, run, ranks});
    cases.back().run.request.switch_at = 37;
  };
  for (const std::string& schedule : ScheduleNames()) {
    add({.schedule = schedule, .stages = 2}, {1, 0});
    add({.schedule = schedule, .stages = 4}, {1, 1, 0, 0});
    add({.schedule = schedule, .stages = 4}, {3, 2, 1, 0});
    add({.schedule = schedule, .stages = 4}, {2, 1, 1, 0});
  }
  add({.schedule = "one_f_one_b_one_w",
       .stages = 5,
       .request = {.period = 4},
       .make_chain = SplitChain},
      {2, 1, 1, 0, 0});
  cases.back().name += "_split";
  return cases;
}

class NetworkOverRanks : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override { at::set_num_threads(1); }
};

TEST_P(NetworkOverRanks, EqualsTheSerialOracleBitForBit) {
  const std::vector<at::Tensor> inputs = SmallInputs(43);  // Not a whole number of patterns.
  const Outcome together = Together(GetParam().run, GetParam().ranks, inputs);
  Outcome serially = Serially(GetParam().run, inputs);
  serially.buffers.clear();
  ExpectEqual(together, serially);
}

INSTANTIATE_TEST_SUITE_P(AllSchedules, NetworkOverRanks, ::testing::ValuesIn(AllCases()),
                         [](const auto& test) { return test.param.name; });

// Without one message, no rank can finish: each must notice, and no thread may wait for ever.
TEST(RanksTest, ALostRankEndsTheRunOfAllRanksAtAnyMessage) {
  const SmallRun run{.schedule = "one_f_one_b_star", .stages = 4};
  const Ranks ranks = {2, 1, 1, 0};
  const std::vector<at::Tensor> inputs = SmallInputs(12);
  std::int64_t all_messages = 0;
  for (std::int64_t messages = 1; messages <= 101; messages += 10) {
    for (int lost = 0; lost <= 2; ++lost) {
      FakeWires wires(3, static_cast<unsigned>(messages));
      wires.LoseAfter(messages, lost);
      std::vector<absl::Status> ends(3);
      {
        std::vector<std::unique_ptr<Rank>> all;
        for (int i = 0; i < 3; ++i) all.push_back(std::make_unique<Rank>(run, ranks, i, wires));
        std::vector<std::jthread> threads;
        for (int i = 0; i < 3; ++i) {
          threads.emplace_back([&, i] {
            ends[i] = i == 0 ? all[0]->Lead(inputs) : all[i]->Follow();
            // As a process that ends: its neighbours notice.
            if (!ends[i].ok()) wires.of(i).Abort(ends[i]);
          });
        }
      }
      for (const absl::Status& end : ends) {
        EXPECT_EQ(end.code(), absl::StatusCode::kUnavailable) << end << " at " << messages;
      }
      all_messages = std::max(all_messages, wires.arrived());
    }
  }
  EXPECT_GE(all_messages, 101);
}

TEST(RanksTest, AMessageOfAnotherEpochOrSampleIsRefused) {
  FakeWires wires(2);
  const auto refusal = [&](const TensorMessage& sent, std::int64_t epoch) {
    OutgoingMessage outgoing({.wires = wires.of(0), .rank = 1, .tag = 0, .epoch = epoch}, sent);
    IncomingMessage incoming({.wires = wires.of(1), .rank = 0, .tag = 0, .epoch = 5});
    const auto got = incoming.Wait(/*sample=*/8, /*tensors=*/1);
    EXPECT_EQ(got.status().code(), absl::StatusCode::kDataLoss);
    return std::string(got.status().message());
  };
  const at::Tensor value = at::empty({2});
  EXPECT_THAT(refusal({.sample = 8, .tensors = {value}}, 4), HasSubstr("of epoch 4, not of 5"));
  EXPECT_THAT(refusal({.sample = 7, .tensors = {value}}, 5), HasSubstr("for sample 7, not for 8"));
  EXPECT_THAT(refusal({.sample = 8, .tensors = {}}, 5), HasSubstr("of 0 tensors, not of 1"));
}

// Layouts of memory select kernels, so they arrive as they were.
TEST(RanksTest, TensorsArriveWithTheirStrides) {
  FakeWires wires(2);
  const at::Tensor dense = at::arange(2 * 3 * 4 * 5, at::kFloat).view({2, 3, 4, 5});
  const std::vector<at::Tensor> all = {dense,
                                       dense.contiguous(at::MemoryFormat::ChannelsLast),
                                       dense.permute({0, 2, 3, 1}),
                                       dense.narrow(3, 1, 2),
                                       dense.select(1, 1),
                                       dense.slice(2, 0, 4, 2),
                                       dense.narrow(1, 0, 1).expand({2, 3, 4, 5}),
                                       at::arange(5, at::kDouble)[2],
                                       at::empty({0, 4}),
                                       at::arange(6, at::kByte).view({2, 3}),
                                       dense.to(at::kBFloat16),
                                       at::Tensor()};
  OutgoingMessage outgoing({.wires = wires.of(0), .rank = 1, .tag = 4},
                           {.tensors = {all.begin(), all.end()}});
  IncomingMessage incoming({.wires = wires.of(1), .rank = 0, .tag = 4});
  const auto got = incoming.Wait(0, static_cast<int>(all.size()));
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_TRUE(outgoing.Wait().ok());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const at::Tensor& tensor = got->tensors[i];
    ASSERT_EQ(tensor.defined(), all[i].defined());
    if (!tensor.defined()) continue;
    EXPECT_EQ(tensor.strides(), all[i].strides()) << i;
    EXPECT_EQ(tensor.scalar_type(), all[i].scalar_type()) << i;
    EXPECT_TRUE(at::equal(tensor, all[i])) << i;
  }
}

}  // namespace
}  // namespace millrace::pipeline
