// Threads that follow a leader, in the place of processes on other hosts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "pipeline/ranks/rank_task.h"
#include "tests/pipeline/support/fake_rank_group.h"

namespace millrace::pipeline {

class FakeHosts {
 public:
  using Follow = std::function<absl::Status(RankGroup& group, RankTask task)>;

  // When a rank is lost.
  struct Loss {
    int rank = 0;
    std::int64_t after_messages = -1;  // -1: never.
  };

  explicit FakeHosts(Follow follow) : follow_(std::move(follow)) {}
  ~FakeHosts() {
    const MutexLock lock(mu_);
    for (const auto& wires : wires_) wires->of(0).Abort(absl::CancelledError("the test ends"));
  }

  // Messages between the newest ranks.
  [[nodiscard]] std::int64_t arrived() const {
    const MutexLock lock(mu_);
    return wires_.back()->arrived();
  }
  // Of the newest ranks.
  [[nodiscard]] FakeWires::Traffic traffic(int from, int to) const {
    const MutexLock lock(mu_);
    return wires_.back()->traffic(from, to);
  }

  std::unique_ptr<RankGroup> Join(int size, const Loss& loss) {
    const MutexLock lock(mu_);
    const auto epoch = static_cast<std::int64_t>(wires_.size()) + 1;
    wires_.push_back(std::make_unique<FakeWires>(size, /*seed=*/3));
    FakeWires& wires = *wires_.back();
    if (loss.after_messages >= 0) wires.LoseAfter(loss.after_messages, loss.rank);
    for (int rank = 1; rank < size; ++rank) {
      threads_.emplace_back([this, &wires, rank, size, epoch, is_lost = loss.after_messages >= 0] {
        FakeRankGroup group(wires, rank, size, epoch);
        auto task = ReceiveTask(group.wires());
        const absl::Status end = task.ok() ? follow_(group, *std::move(task)) : task.status();
        EXPECT_NE(end.ok(), is_lost) << end;
      });
    }
    return std::make_unique<FakeRankGroup>(wires, 0, size, epoch);
  }

 private:
  const Follow follow_;
  mutable Mutex mu_;
  std::vector<std::unique_ptr<FakeWires>> wires_ ABSL_GUARDED_BY(mu_);
  std::vector<std::jthread> threads_;
};

}  // namespace millrace::pipeline
