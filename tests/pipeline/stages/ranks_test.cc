// A network over several ranks, each a set of threads, joined by wires: equal to the serial oracle
// bit for bit.
#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <thread>

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/rand.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status.h"
#include "pipeline/plan/plan_part.h"
#include "pipeline/ranks/rank_task.h"
#include "pipeline/ranks/rank_work.h"
#include "pipeline/stages/follow_leader.h"
#include "pipeline/stages/network_run.h"
#include "pipeline/stages/rank_states.h"
#include "pipeline/wires/byte_message.h"
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

// Copies of stages while they learn, by sample and stage.
using Copies = std::map<std::pair<std::int64_t, int>, std::vector<LayerState>>;

constexpr int kCopyEvery = 7;

// What happens to a learner before a sample.
struct Events {
  int slower_at = -1;      // Another learning rate.
  int back_at = -1;        // A return to older weights.
  int other_plan_at = -1;  // Other cuts, and another schedule.
  int other_optimizer_at = -1;
};

// One rank: its own chain, plans and engine. Without wires it has all stages.
class Rank {
 public:
  Rank(const SmallRun& run, const Ranks& ranks, int own, FakeWires* wires) : chain_(run.Chain()) {
    Phases phases = run.PhasesFor(chain_);
    task_ = {.phases = phases,
             .rank_of_stage = ranks,
             .cuts = EvenCuts(run.stages),
             .optimizer = run.optimizer};
    if (wires != nullptr) {
      for (Phase& phase : phases) phase.plan = *PartOf(phase.plan, ranks, own);
    }
    StagedNetwork::Options network = run.OptionsFor(chain_, phases.front().plan, outputs_);
    if (own != 0) network.loss = nullptr;
    if (own == 0) network.on_update = [this](const Step& update) { Copy(update); };
    if (wires != nullptr) {
      ranks_.emplace(RankWires{.wires = wires->of(own),
                               .rank_of_stage = ranks,
                               .own_rank = own,
                               .epoch = 3,
                               .copy_every = kCopyEvery});
      network.ranks.emplace(*ranks_);
    }
    options_.emplace(
        NetworkRun::Options{.network = std::move(network),
                            .phases = std::move(phases),
                            .prepare = [this](StagedNetwork& made) { network_ = &made; }});
    if (wires != nullptr && own == 0) {
      options_->tell_ranks = [this](const NetworkChange& change) { return Tell(change); };
    }
  }

  absl::Status Lead(const std::vector<at::Tensor>& inputs, const Events& events = {}) {
    MILLRACE_RETURN_IF_ERROR(Start());
    const std::vector<LayerState> first = run_->network().store().Save();
    for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
      MILLRACE_RETURN_IF_ERROR(run_->AwaitRoom());
      if (i == events.slower_at) run_->network().ScaleLearningRates(0.25);
      if (i == events.other_plan_at) MILLRACE_RETURN_IF_ERROR(TakeOtherPlan());
      if (i == events.other_optimizer_at) {
        MILLRACE_RETURN_IF_ERROR(run_->SetOptimizer({.weight_decay = 0.1, .clip_norm = 0.5}));
      }
      if (i == events.back_at) {
        MILLRACE_RETURN_IF_ERROR(run_->Pause([&](StagedNetwork& network) {
          settled_ = network.store().Save();
          network.store().Restore(first);
        }));
      }
      MILLRACE_RETURN_IF_ERROR(run_->Admit([&] { return inputs[i]; }).status());
    }
    return run_->Drain();
  }

  absl::Status Follow() {
    MILLRACE_RETURN_IF_ERROR(Start());
    return FollowLeader(*run_, *ranks_, [this](const RankWork& work) { news_ = TextOf(work); });
  }

  void End() { run_.reset(); }

  // Of the leader, after the end: with the state of all stages.
  [[nodiscard]] Outcome Learned() const {
    const Stage whole = WholeChain(chain_);
    return {.outputs = outputs_,
            .parameters = Values(whole.parameters()),
            .updates = run_->network().updates(),
            .buffers = Values(whole.buffers())};
  }
  [[nodiscard]] const std::vector<LayerState>& settled() const { return settled_; }
  [[nodiscard]] const Copies& copies() const { return copies_; }
  // At the end.
  [[nodiscard]] const Cuts& cuts() const { return run_->network().cuts(); }
  [[nodiscard]] RankWork work() const { return run_->network().rank_work(); }
  // The last news that this rank showed.
  [[nodiscard]] const std::string& news() const { return news_; }

 private:
  absl::Status Start() {
    auto made = NetworkRun::Start(*std::move(options_));
    if (!made.ok()) return made.status();
    run_ = *std::move(made);
    return absl::OkStatus();
  }

  // One layer a stage, and the last stage has the rest.
  absl::Status TakeOtherPlan() {
    Cuts cuts(task_.cuts.size());
    std::iota(cuts.begin(), cuts.end(), 1);
    ScheduleRequest request{.shape = ShapeOf(chain_, cuts)};
    request.costs.assign(request.shape.stages, kAssumedCost);
    MILLRACE_ASSIGN_OR_RETURN(Phases phases, MakePhases("one_f_one_b_star", request));
    return run_->Switch(std::move(phases.front().plan), cuts);
  }

  absl::StatusOr<Plan> Tell(const NetworkChange& change) {
    if (change.plan) {
      task_.phases = {{.plan = *change.plan}};
      task_.cuts = change.cuts;
    }
    if (change.optimizer) task_.optimizer = *change.optimizer;
    for (int rank = 1; rank <= task_.rank_of_stage.front(); ++rank) {
      MILLRACE_RETURN_IF_ERROR(SendBytes(ranks_->wires, rank, kTaskTag, TextOf(task_)));
      MILLRACE_RETURN_IF_ERROR(SendBytes(ranks_->wires, rank, kTaskTag, /*the network's file*/ ""));
    }
    MILLRACE_ASSIGN_OR_RETURN(Phases own, PhasesOfRank(task_, /*rank=*/0));
    return std::move(own.front().plan);
  }

  void Copy(const Step& update) {
    if (!IsCopied(update, kCopyEvery)) return;
    std::vector<LayerState> copy = network_->store().Save(update.stage);
    const std::lock_guard lock(mu_);
    copies_[{update.last, update.stage}] = std::move(copy);
  }

  const LayerChain chain_;
  std::optional<RankWires> ranks_;
  RankTask task_;  // Of the whole network.
  std::string news_;
  std::vector<at::Tensor> outputs_;
  std::vector<LayerState> settled_;
  std::mutex mu_;
  Copies copies_;
  std::optional<NetworkRun::Options> options_;  // Until Start().
  // Copies come while `run_` is made and destroyed, too.
  StagedNetwork* network_ = nullptr;
  std::unique_ptr<NetworkRun> run_;
};

// Ranks that ran together, and how each ended.
struct Ran {
  std::unique_ptr<FakeWires> wires;
  std::vector<std::unique_ptr<Rank>> ranks;
  std::vector<absl::Status> ends;
};

Ran RunOver(const SmallRun& run, const Ranks& ranks, const std::vector<at::Tensor>& inputs,
            std::unique_ptr<FakeWires> joined, const Events& events = {}) {
  Ran ran{.wires = std::move(joined), .ranks = {}, .ends = {}};
  FakeWires& wires = *ran.wires;
  const int size = ranks.front() + 1;
  ran.ends.resize(size);
  std::vector<std::jthread> threads;
  for (int i = 0; i < size; ++i) {
    ran.ranks.push_back(std::make_unique<Rank>(run, ranks, i, &wires));
    threads.emplace_back([&, i, rank = ran.ranks.back().get()] {
      at::set_num_threads(1);
      ran.ends[i] = i == 0 ? rank->Lead(inputs, events) : rank->Follow();
      if (ran.ends[i].ok()) return;
      // As in a process that ends: the run ends first, then the others notice.
      rank->End();
      wires.of(i).Abort(ran.ends[i]);
    });
  }
  threads.clear();
  return ran;
}

Ran RunWell(const SmallRun& run, const Ranks& ranks, const std::vector<at::Tensor>& inputs,
            const Events& events = {}) {
  Ran ran = RunOver(run, ranks, inputs, std::make_unique<FakeWires>(ranks.front() + 1, /*seed=*/7),
                    events);
  for (const absl::Status& end : ran.ends) EXPECT_TRUE(end.ok()) << end;
  return ran;
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
  const Ran ran = RunWell(GetParam().run, GetParam().ranks, inputs);
  ExpectEqual(ran.ranks.front()->Learned(), Serially(GetParam().run, inputs));
}

void ExpectSameLayers(const std::vector<LayerState>& a, const std::vector<LayerState>& b) {
  ASSERT_EQ(a.size(), b.size());
  const auto equal = [](const std::vector<at::Tensor>& x, const std::vector<at::Tensor>& y) {
    return std::ranges::equal(x, y, [](const auto& p, const auto& q) { return at::equal(p, q); });
  };
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(equal(a[i].parameters, b[i].parameters)) << "layer " << i;
    EXPECT_TRUE(equal(a[i].buffers, b[i].buffers)) << "layer " << i;
    EXPECT_TRUE(
        std::ranges::equal(a[i].optimizer.of_parameters, b[i].optimizer.of_parameters, equal))
        << "layer " << i;
    EXPECT_EQ(a[i].optimizer.counts.updates, b[i].optimizer.counts.updates) << "layer " << i;
  }
}

// A rate that changes, a pause with a return to older weights, and the copies of all stages: as in
// one process.
TEST_P(NetworkOverRanks, LearnsAsOneProcessThroughPausesAndChanges) {
  const std::vector<at::Tensor> inputs = SmallInputs(40);
  const Events events = {.slower_at = 11, .back_at = 23};
  Rank one(GetParam().run, {}, 0, nullptr);
  const absl::Status end = one.Lead(inputs, events);
  ASSERT_TRUE(end.ok()) << end;
  const Ran ran = RunWell(GetParam().run, GetParam().ranks, inputs, events);
  const Rank& leader = *ran.ranks.front();
  ExpectEqual(leader.Learned(), one.Learned());
  ExpectSameLayers(leader.settled(), one.settled());
  ASSERT_EQ(leader.copies().size(), one.copies().size());
  for (const auto& [of, copy] : one.copies()) {
    SCOPED_TRACE(testing::PrintToString(of));
    ASSERT_TRUE(leader.copies().contains(of));
    ExpectSameLayers(leader.copies().at(of), copy);
  }
}

// Another plan with other cuts, and another optimizer: as in one process.
TEST_P(NetworkOverRanks, SwitchesToOtherCutsAndAnotherOptimizerAsOneProcess) {
  const std::vector<at::Tensor> inputs = SmallInputs(40);
  const Events events = {.other_plan_at = 13, .other_optimizer_at = 27};
  Rank one(GetParam().run, {}, 0, nullptr);
  const absl::Status end = one.Lead(inputs, events);
  ASSERT_TRUE(end.ok()) << end;
  const Ran ran = RunWell(GetParam().run, GetParam().ranks, inputs, events);
  ExpectEqual(ran.ranks.front()->Learned(), one.Learned());
  EXPECT_EQ(ran.ranks.back()->cuts(), one.cuts());
  const Ran unchanged = RunWell(GetParam().run, GetParam().ranks, inputs);
  EXPECT_FALSE(
      at::equal(unchanged.ranks.front()->Learned().outputs.back(), one.Learned().outputs.back()));
}

INSTANTIATE_TEST_SUITE_P(AllSchedules, NetworkOverRanks, ::testing::ValuesIn(AllCases()),
                         [](const auto& test) { return test.param.name; });

// Without one message, no rank can finish: each must notice, and no thread may wait for ever.
TEST(RanksTest, ALostRankEndsTheRunOfAllRanksAtAnyMessage) {
  const Ranks ranks = {2, 1, 1, 0};
  const std::vector<at::Tensor> inputs = SmallInputs(12);
  for (const char* schedule : {"one_f_one_b_star", "pipedream", "interleaved"}) {
    const SmallRun run{.schedule = schedule, .stages = 4};
    std::int64_t all_messages = 0;
    for (std::int64_t messages = 1; messages <= 121; messages += 4) {
      const int lost = static_cast<int>(messages / 4 % 3);
      SCOPED_TRACE(testing::Message()
                   << schedule << ", rank " << lost << " lost after " << messages);
      auto wires = std::make_unique<FakeWires>(3, static_cast<unsigned>(messages));
      wires->LoseAfter(messages, lost);
      const Ran ran = RunOver(run, ranks, inputs, std::move(wires), {.back_at = 9});
      for (const absl::Status& end : ran.ends) {
        EXPECT_EQ(end.code(), absl::StatusCode::kUnavailable) << end;
      }
      all_messages = std::max(all_messages, ran.wires->arrived());
    }
    EXPECT_GE(all_messages, 121);
  }
}

// A channel's tensors go out once forward and once back, beside heads and inputs.
TEST(RanksTest, EachRankCountsItsWorkAndWhatItSends) {
  const Ranks ranks = {1, 1, 0, 0};
  const std::vector<at::Tensor> inputs = SmallInputs(30);
  const Ran ran = RunWell({.schedule = "one_f_one_b_star", .stages = 4}, ranks, inputs);
  const RankWork leader = ran.ranks[0]->work();
  const RankWork follower = ran.ranks[1]->work();
  ASSERT_EQ(leader.stages.size(), 4U);
  for (int stage = 0; stage < 4; ++stage) {
    const bool is_leaders = ranks[stage] == 0;
    EXPECT_EQ(leader.stages[stage].learning.count() > 0, is_leaders) << stage;
    EXPECT_EQ(follower.stages[stage].learning.count() > 0, !is_leaders) << stage;
  }
  const auto bytes_of_inputs = static_cast<std::int64_t>(inputs.size() * inputs[0].nbytes());
  const std::int64_t forwards = follower.sent[0];
  EXPECT_GT(forwards, 0);
  EXPECT_EQ(follower.sent[1], 0);
  EXPECT_GE(leader.sent[1], forwards + bytes_of_inputs);
  EXPECT_TRUE(WorkOf(ran.ranks[1]->news()).has_value());
}

TEST(RankWorkTest, ItsTextIsReadBack) {
  const RankWork work{
      .stages = {{.predicting = nanoseconds(12), .learning = nanoseconds(std::int64_t{1} << 60)},
                 {}},
      .sent = {0, 7, 1},
      .megabyte_down = nanoseconds(11)};
  EXPECT_EQ(WorkOf(TextOf(work)), work);
  EXPECT_EQ(WorkOf(TextOf(RankWork())), RankWork());
  for (const char* text : {"", "x", "1", "1 2", "1 2 3", "0 0 0 0", "-1", "0 -1 0", "0 1 5 5",
                           "0 9223372036854775807 1 2", "1 2 3 1 4", "1 2 3 0 ", "0 0 1", "0 0 2 1",
                           "0 1 2 99999999999999999999"}) {
    EXPECT_EQ(WorkOf(text), std::nullopt) << text;
  }
}

TEST(RanksTest, AMessageOfAnotherEpochOrSampleIsRefused) {
  FakeWires wires(2);
  const auto refusal = [&](const TensorMessage& sent, std::int64_t epoch) {
    std::atomic<std::int64_t> counters = 0;
    TensorSender sender({.wires = wires.of(0), .rank = 1, .tag = 0, .epoch = epoch}, counters);
    const OutgoingMessage outgoing = sender.Send(sent);
    TensorReceiver receiver({.wires = wires.of(1), .rank = 0, .tag = 0, .epoch = 5});
    const auto got = receiver.Next(/*sample=*/8, /*tensors=*/1);
    EXPECT_EQ(got.status().code(), absl::StatusCode::kDataLoss);
    return std::string(got.status().message());
  };
  const at::Tensor value = at::empty({2});
  EXPECT_THAT(refusal({.sample = 8, .tensors = {value}}, 4), HasSubstr("of epoch 4, not of 5"));
  EXPECT_THAT(refusal({.sample = 7, .tensors = {value}}, 5), HasSubstr("for sample 7, not for 8"));
  EXPECT_THAT(refusal({.sample = 8, .tensors = {}}, 5), HasSubstr("of 0 tensors, not of 1"));
}

std::vector<at::Tensor> ClonesOf(const Tensors& tensors) {
  std::vector<at::Tensor> copies;
  for (const at::Tensor& tensor : tensors) {
    copies.push_back(tensor.defined() ? tensor.clone() : at::Tensor());
  }
  return copies;
}

void ExpectSameTensors(const Tensors& got, const std::vector<at::Tensor>& all) {
  ASSERT_EQ(got.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const at::Tensor& tensor = got[i];
    ASSERT_EQ(tensor.defined(), all[i].defined());
    if (!tensor.defined()) continue;
    EXPECT_EQ(tensor.strides(), all[i].strides()) << i;
    EXPECT_EQ(tensor.scalar_type(), all[i].scalar_type()) << i;
    EXPECT_TRUE(at::equal(tensor, all[i])) << i;
  }
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
  std::atomic<std::int64_t> counters = 0;
  TensorSender sender({.wires = wires.of(0), .rank = 1, .tag = 4}, counters);
  TensorReceiver receiver({.wires = wires.of(1), .rank = 0, .tag = 4});
  // The first message of its length comes in two transfers, the others in one.
  for (const int transfers : {2, 3, 4}) {
    OutgoingMessage outgoing = sender.Send({.tensors = {all.begin(), all.end()}});
    const auto got = receiver.Next(0, static_cast<int>(all.size()));
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_TRUE(outgoing.Wait().ok());
    ExpectSameTensors(got->tensors, all);
    EXPECT_EQ(wires.arrived(), transfers);
  }
}

TEST(RanksTest, MessagesOfAnyLengthFollowEachOther) {
  FakeWires wires(2);
  std::atomic<std::int64_t> counters = 0;
  TensorSender sender({.wires = wires.of(0), .rank = 1, .tag = 4}, counters);
  TensorReceiver receiver({.wires = wires.of(1), .rank = 0, .tag = 4});
  std::mt19937 random(3);
  for (std::int64_t sample = 0; sample < 200; ++sample) {
    TensorMessage sent{.sample = sample, .tensors = {}};
    const auto length = static_cast<std::int64_t>(random() % 3 * 50);
    switch (random() % 4) {
      case 0:
        sent.kind = MessageKind::kInvalid;
        break;
      case 1:
        sent.tensors = {at::rand({length}), at::Tensor(), at::rand({2})};
        break;
      default:
        sent.tensors = {at::rand({length})};
    }
    OutgoingMessage outgoing = sender.Send(sent);
    const std::vector<at::Tensor> copies = ClonesOf(sent.tensors);
    for (at::Tensor& tensor : sent.tensors) {
      if (tensor.defined()) tensor.zero_();  // It was sent.
    }
    const auto got = receiver.Next();
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_TRUE(outgoing.Wait().ok());
    EXPECT_EQ(got->sample, sample);
    EXPECT_EQ(got->kind, sent.kind);
    ExpectSameTensors(got->tensors, copies);
  }
}

}  // namespace
}  // namespace millrace::pipeline
