// Wires between ranks that are threads of one process.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/mutex.h"
#include "pipeline/wires/wires.h"

namespace millrace::pipeline {

/// Joins the wires of all ranks. They hold nothing: a sender waits for its receiver. Messages with
/// different tags arrive in random order. Thread-safe. Outlives its transfers.
class FakeWires {
 public:
  explicit FakeWires(int ranks, unsigned seed = 0) : random_(seed), lost_(ranks, false) {
    for (int rank = 0; rank < ranks; ++rank) ends_.push_back(std::make_unique<End>(*this, rank));
  }

  [[nodiscard]] Wires& of(int rank) { return *ends_.at(rank); }

  /// Loses `rank` once this many messages have arrived.
  void LoseAfter(std::int64_t messages, int rank) {
    const MutexLock lock(mu_);
    lose_after_ = messages;
    to_lose_ = rank;
  }
  /// OK, or that another rank than `rank` was lost so.
  [[nodiscard]] absl::Status LossFor(int rank) const {
    const MutexLock lock(mu_);
    if (arrived_ < lose_after_ || lose_after_ < 0 || to_lose_ == rank) return absl::OkStatus();
    return absl::UnavailableError(absl::StrCat("rank ", to_lose_, " is lost"));
  }
  /// As RankGroup::Show() and NewsOf(), at once.
  void Show(int rank, std::string news) {
    const MutexLock lock(mu_);
    news_[rank] = std::move(news);
  }
  [[nodiscard]] std::string NewsOf(int rank) const {
    const MutexLock lock(mu_);
    const auto found = news_.find(rank);
    return found != news_.end() ? found->second : "";
  }
  [[nodiscard]] std::int64_t arrived() const {
    const MutexLock lock(mu_);
    return arrived_;
  }
  /// Messages that have arrived from one rank at another one, and their bytes.
  struct Traffic {
    std::int64_t messages = 0;
    std::int64_t bytes = 0;
  };
  [[nodiscard]] Traffic traffic(int from, int to) const {
    const MutexLock lock(mu_);
    const auto found = traffic_.find({from, to});
    return found != traffic_.end() ? found->second : Traffic{};
  }

 private:
  using Pair = std::tuple<int, int, int>;  // From, to, tag.

  // One side of a message.
  struct Side {
    int rank = 0;
    int other = 0;
    std::span<const std::byte> sent = {};
    std::span<std::byte> received = {};
    bool done = false;
    absl::Status result = absl::OkStatus();
  };
  struct Queues {
    std::deque<Side*> senders;
    std::deque<Side*> receivers;
  };

  class FakeTransfer final : public WireTransfer {
   public:
    FakeTransfer(FakeWires& wires, const Pair& pair, Side side, bool sends)
        : wires_(wires), pair_(pair), side_(std::move(side)) {
      const MutexLock lock(wires_.mu_);
      Queues& queues = wires_.queues_[pair_];
      (sends ? queues.senders : queues.receivers).push_back(&side_);
      wires_.changed_.notify_all();
    }
    ~FakeTransfer() override {
      const MutexLock lock(wires_.mu_);
      Queues& queues = wires_.queues_[pair_];
      std::erase(queues.senders, &side_);
      std::erase(queues.receivers, &side_);
    }
    absl::Status Wait() override { return wires_.Await(side_); }

   private:
    FakeWires& wires_;
    const Pair pair_;
    Side side_;
  };

  class End final : public Wires {
   public:
    End(FakeWires& wires, int rank) : wires_(wires), rank_(rank) {}
    std::unique_ptr<WireTransfer> Send(int to, int tag, std::span<const std::byte> bytes) override {
      return std::make_unique<FakeTransfer>(wires_, Pair(rank_, to, tag),
                                            Side{.rank = rank_, .other = to, .sent = bytes}, true);
    }
    std::unique_ptr<WireTransfer> Receive(int from, int tag, std::span<std::byte> bytes) override {
      return std::make_unique<FakeTransfer>(wires_, Pair(from, rank_, tag),
                                            Side{.rank = rank_, .other = from, .received = bytes},
                                            false);
    }
    void Abort(const absl::Status& cause) override { wires_.Abort(rank_, cause); }

   private:
    FakeWires& wires_;
    const int rank_;
  };

  // A waiting thread lets messages arrive, in random order, until its own has.
  absl::Status Await(Side& side) {
    const MutexLock lock(mu_);
    while (!side.done) {
      if (aborted_.contains(side.rank)) return aborted_.at(side.rank);
      if (lost_[side.rank] || lost_[side.other]) {
        return absl::UnavailableError(absl::StrCat("rank ", side.other, " is lost"));
      }
      if (!LetOneArrive()) changed_.wait(mu_);
    }
    return side.result;
  }

  bool LetOneArrive() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    std::vector<Queues*> ready;
    for (auto& [pair, queues] : queues_) {
      const bool lost = lost_[std::get<0>(pair)] || lost_[std::get<1>(pair)];
      if (!lost && !queues.senders.empty() && !queues.receivers.empty()) ready.push_back(&queues);
    }
    if (ready.empty()) return false;
    Queues& queues = *ready[random_() % ready.size()];
    Side& sender = *queues.senders.front();
    Side& receiver = *queues.receivers.front();
    queues.senders.pop_front();
    queues.receivers.pop_front();
    MILLRACE_CHECK(sender.sent.size() <= receiver.received.size());
    std::ranges::copy(sender.sent, receiver.received.begin());
    sender.done = receiver.done = true;
    Traffic& traffic = traffic_[{sender.rank, receiver.rank}];
    ++traffic.messages;
    traffic.bytes += static_cast<std::int64_t>(sender.sent.size());
    if (++arrived_ == lose_after_) lost_[to_lose_] = true;
    changed_.notify_all();
    return true;
  }

  void Abort(int rank, const absl::Status& cause) {
    const MutexLock lock(mu_);
    aborted_.emplace(rank, cause);
    lost_[rank] = true;
    changed_.notify_all();
  }

  std::vector<std::unique_ptr<End>> ends_;

  mutable Mutex mu_;
  CondVar changed_;
  std::mt19937 random_ ABSL_GUARDED_BY(mu_);
  std::map<Pair, Queues> queues_ ABSL_GUARDED_BY(mu_);
  std::vector<bool> lost_ ABSL_GUARDED_BY(mu_);
  std::map<int, absl::Status> aborted_ ABSL_GUARDED_BY(mu_);
  std::map<int, std::string> news_ ABSL_GUARDED_BY(mu_);
  std::int64_t arrived_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<std::pair<int, int>, Traffic> traffic_ ABSL_GUARDED_BY(mu_);
  std::int64_t lose_after_ ABSL_GUARDED_BY(mu_) = -1;
  int to_lose_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace millrace::pipeline
