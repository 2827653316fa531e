#include "pipeline/stages/rank_states.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/exception_to_status.h"
#include "base/foreign_error.h"
#include "base/status.h"
#include "pipeline/nn/layer_tensors.h"
#include "pipeline/wires/byte_message.h"

namespace millrace::pipeline {
namespace {

// Tags below RankWires::kFirstTag; each takes two.
constexpr int kToLeader = 4;
constexpr int kToFollowers = 6;
constexpr std::size_t kMaxBytes = std::size_t{16} << 30;

// A run of stages of one rank, with its state.
struct StatesOfRank {
  enum class Kind { kCopy, kSettled, kLast };
  Kind kind = Kind::kSettled;
  int first_stage = 1;
  int last_stage = 1;
  /// Of a copy.
  std::int64_t first_sample = 0;
  std::int64_t last_sample = 0;
  /// NetworkStore::gradients_not_finite() of the rank.
  std::int64_t not_finite = 0;
};

constexpr const char* kNumbers[] = {"kind",         "first stage", "last stage",
                                    "first sample", "last sample", "gradients not finite"};

int FirstLayer(const NetworkStore& store, const StatesOfRank& of) {
  return store.stage(of.first_stage).first();
}

int EndLayer(const NetworkStore& store, const StatesOfRank& of) {
  return store.stage(of.last_stage).last() + 1;
}

StatesOfRank StagesOf(const RankWires& ranks, int rank) {
  const auto& all = ranks.rank_of_stage;
  const auto first = std::ranges::find(all, rank) - all.begin() + 1;
  return {.first_stage = static_cast<int>(first),
          .last_stage = static_cast<int>(first + std::ranges::count(all, rank) - 1)};
}

std::string Encode(const NetworkStore& store, const StatesOfRank& of) {
  std::vector<LayerState> layers(FirstLayer(store, of));
  for (int stage = of.first_stage; stage <= of.last_stage; ++stage) {
    std::ranges::move(store.Save(stage), std::back_inserter(layers));
  }
  SafeTensors content = TensorsOf(layers, FirstLayer(store, of), EndLayer(store, of));
  const std::int64_t numbers[] = {static_cast<std::int64_t>(of.kind),
                                  of.first_stage,
                                  of.last_stage,
                                  of.first_sample,
                                  of.last_sample,
                                  store.gradients_not_finite()};
  for (std::size_t i = 0; i < std::size(numbers); ++i) {
    content.metadata[kNumbers[i]] = absl::StrCat(numbers[i]);
  }
  return EncodeSafeTensors(content);
}

// Puts the state into `store`, stage by stage.
absl::StatusOr<StatesOfRank> Decode(const std::string& bytes, NetworkStore& store) {
  MILLRACE_ASSIGN_OR_RETURN(SafeTensors content, DecodeSafeTensors(bytes));
  std::int64_t numbers[std::size(kNumbers)] = {};
  for (std::size_t i = 0; i < std::size(kNumbers); ++i) {
    if (!absl::SimpleAtoi(content.metadata[kNumbers[i]], &numbers[i])) {
      return absl::DataLossError("the state of another rank has no header");
    }
  }
  const StatesOfRank of{.kind = static_cast<StatesOfRank::Kind>(numbers[0]),
                        .first_stage = static_cast<int>(numbers[1]),
                        .last_stage = static_cast<int>(numbers[2]),
                        .first_sample = numbers[3],
                        .last_sample = numbers[4],
                        .not_finite = numbers[5]};
  if (of.first_stage < 1 || of.last_stage > store.stage_count()) {
    return absl::DataLossError("the state of another rank is of stages that do not exist");
  }
  for (int stage = of.first_stage; stage <= of.last_stage; ++stage) {
    std::vector<LayerState> layers;
    for (int layer = store.stage(stage).first(); layer <= store.stage(stage).last(); ++layer) {
      layers.push_back(LayerOf(content, layer));
    }
    store.Restore(stage, layers);
  }
  return of;
}

// LibTorch may throw.
template <typename Call>
auto Caught(const Call& call) {
  return ExceptionToStatus(call, InternalCause);
}

}  // namespace

RankStates::RankStates(const RankWires& ranks, NetworkStore& store, OnCopy on_copy)
    : ranks_(ranks),
      store_(store),
      on_copy_(std::move(on_copy)),
      not_finite_(ranks.rank_of_stage.front() + 1, 0) {
  for (int rank = 1; rank <= ranks_.rank_of_stage.front(); ++rank) {
    receivers_.emplace_back([this, rank] { Receive(rank); });
  }
}

void RankStates::Receive(int rank) {
  bool last = false;
  absl::Status received;
  while (received.ok() && !last) {
    received = Caught([&] { return ReceiveOne(rank, last); });
  }
  if (!received.ok()) ranks_.wires.Abort(received);
  const MutexLock lock(mu_);
  failure_.Update(received);
  changed_.notify_all();
}

absl::Status RankStates::ReceiveOne(int rank, bool& last) {
  MILLRACE_ASSIGN_OR_RETURN(const std::string bytes,
                            ReceiveBytes(ranks_.wires, rank, kToLeader, kMaxBytes));
  MILLRACE_ASSIGN_OR_RETURN(const StatesOfRank of, Decode(bytes, store_));
  store_.gradients_not_finite() += of.not_finite - std::exchange(not_finite_[rank], of.not_finite);
  if (of.kind == StatesOfRank::Kind::kCopy) {
    if (on_copy_) {
      on_copy_({.kind = OperationKind::kUpdate,
                .stage = of.first_stage,
                .first = of.first_sample,
                .last = of.last_sample});
    }
    return absl::OkStatus();
  }
  last = of.kind == StatesOfRank::Kind::kLast;
  const MutexLock lock(mu_);
  ++settled_;
  changed_.notify_all();
  return absl::OkStatus();
}

absl::Status RankStates::AwaitSettled() {
  const MutexLock lock(mu_);
  while (failure_.ok() && settled_ < static_cast<int>(receivers_.size())) changed_.wait(mu_);
  MILLRACE_RETURN_IF_ERROR(failure_);
  settled_ = 0;
  return absl::OkStatus();
}

absl::Status RankStates::HandOut() const {
  for (int rank = 1; rank <= ranks_.rank_of_stage.front(); ++rank) {
    MILLRACE_RETURN_IF_ERROR(
        SendBytes(ranks_.wires, rank, kToFollowers, Encode(store_, StagesOf(ranks_, rank))));
  }
  return absl::OkStatus();
}

absl::Status FollowerState::Send(const std::string& bytes) const {
  const MutexLock lock(mu_);
  return SendBytes(ranks_.wires, 0, kToLeader, bytes);
}

absl::Status FollowerState::SendCopyIfDue(const Step& update) const {
  if (ranks_.copy_every == 0 || !IsCopied(update, ranks_.copy_every)) return absl::OkStatus();
  return Send(Encode(store_, {.kind = StatesOfRank::Kind::kCopy,
                              .first_stage = update.stage,
                              .last_stage = update.stage,
                              .first_sample = update.first,
                              .last_sample = update.last}));
}

absl::Status FollowerState::SendSettled(bool last) const {
  StatesOfRank of = StagesOf(ranks_, ranks_.own_rank);
  of.kind = last ? StatesOfRank::Kind::kLast : StatesOfRank::Kind::kSettled;
  return Send(Encode(store_, of));
}

absl::Status FollowerState::Take() const {
  MILLRACE_ASSIGN_OR_RETURN(const std::string bytes,
                            ReceiveBytes(ranks_.wires, 0, kToFollowers, kMaxBytes));
  return Decode(bytes, store_).status();
}

}  // namespace millrace::pipeline
