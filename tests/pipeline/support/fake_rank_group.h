// A group of ranks that are threads of one process.
#pragma once

#include "pipeline/wires/rank_group.h"
#include "tests/pipeline/support/fake_wires.h"

namespace millrace::pipeline {

/// `wires` outlives it.
class FakeRankGroup final : public RankGroup {
 public:
  FakeRankGroup(FakeWires& wires, int rank, int size) : wires_(wires), rank_(rank), size_(size) {}

  Wires& wires() override { return wires_.of(rank_); }
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] std::int64_t epoch() const override { return 1; }

 private:
  FakeWires& wires_;
  const int rank_;
  const int size_;
};

}  // namespace millrace::pipeline
