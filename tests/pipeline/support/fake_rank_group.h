// A group of ranks that are threads of one process.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "pipeline/wires/rank_group.h"
#include "tests/pipeline/support/fake_wires.h"

namespace millrace::pipeline {

/// `wires` outlives it.
class FakeRankGroup final : public RankGroup {
 public:
  FakeRankGroup(FakeWires& wires, int rank, int size, std::int64_t epoch = 1)
      : wires_(wires), rank_(rank), size_(size), epoch_(epoch) {}

  Wires& wires() override { return wires_.of(rank_); }
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] std::int64_t epoch() const override { return epoch_; }
  [[nodiscard]] std::string name(int rank) const override { return absl::StrCat("thread ", rank); }
  [[nodiscard]] absl::Status lost() const override { return wires_.LossFor(rank_); }
  void Show(std::string news) override { wires_.Show(rank_, std::move(news)); }
  [[nodiscard]] std::string NewsOf(int rank) const override { return wires_.NewsOf(rank); }
  void Leave() override { wires().Abort(absl::CancelledError("it leaves")); }

 private:
  FakeWires& wires_;
  const int rank_;
  const int size_;
  const std::int64_t epoch_;
};

}  // namespace millrace::pipeline
