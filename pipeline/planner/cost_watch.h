// Measures what stages really cost while they run, and says when that has moved from what they were
// planned with.
//
// It takes wall time, from an operation's start to its end, because that is what the frame rate
// needs: a core that is shared, throttled or short of memory bandwidth makes a stage slow without
// costing it more CPU time, and a stage may have several threads. The median of a window is robust
// against the odd operation that was interrupted.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/stage_cost.h"

namespace millrace::pipeline {

/// By how much stages cost something else than planned: of the stage that moved most, the sum of
/// the differences of its forward, backward and update, as a share of what the slowest stage was
/// planned to take. A small stage may double and change nothing. REQUIRES: as many of each.
[[nodiscard]] double Movement(const std::vector<StageCost>& planned,
                              const std::vector<StageCost>& measured);

/// The times of the stages of one plan after the other, in milliseconds.
///
/// Record() is for the thread that does the operation, one at a time for each stage and kind; it
/// takes no lock and allocates nothing. Everything else is for one thread.
class CostWatch {
 public:
  /// Operations that a median is of, and the fewest that make one.
  static constexpr int kWindow = 32;
  static constexpr int kFewest = 16;
  /// Samples within which an operation has run "lately": it does where one sample in 64, the fewest
  /// of all but none, is learned from.
  static constexpr std::int64_t kLately = 128;

  struct Options {
    /// Stages of the largest plan.
    int most_stages = 1;
    /// The movement from which on costs have moved; 0: they never do.
    double share = 0.25;
  };

  explicit CostWatch(const Options& options);

  CostWatch(const CostWatch&) = delete;
  CostWatch& operator=(const CostWatch&) = delete;

  /// Stages cost `planned` now, says a plan; nothing moves before `not_before`.
  void PlannedWith(std::vector<StageCost> planned, nanoseconds not_before);

  /// Forgets all times: other stages will run. REQUIRES: nothing runs.
  void Forget();

  /// `step` took so long. Leave out what had nothing to do, as a backward that got no gradient: it
  /// would count as cheap.
  void Record(const Step& step, nanoseconds took);

  /// What the stages cost, once every one has gone forward often enough. Where a kind of operation
  /// has not run lately, because learning is given up to keep the rate, it is taken to have moved
  /// as the stage's forwards have.
  [[nodiscard]] std::optional<std::vector<StageCost>> Measured() const;

  /// Measured(), if it has moved from what was planned by more than the share, and it is late
  /// enough.
  [[nodiscard]] std::optional<std::vector<StageCost>> Moved(nanoseconds now) const;

 private:
  // The last times of one kind of operation of one stage.
  class alignas(64) Times {
   public:
    void Add(std::int64_t sample, nanoseconds took);
    void Forget();
    [[nodiscard]] std::optional<double> MedianMs() const;
    [[nodiscard]] std::int64_t newest_sample() const { return newest_sample_; }

   private:
    std::array<std::atomic<std::int64_t>, kWindow> nanoseconds_ = {};
    std::atomic<std::int64_t> count_ = 0;
    std::atomic<std::int64_t> newest_sample_ = 0;
  };
  using OfStage = std::array<Times, kOperationKinds>;

  // Constant after construction.
  const Options options_;

  // Self-synchronized; in place from construction on.
  std::vector<OfStage> times_;

  // Of the one thread.
  std::vector<StageCost> planned_;
  nanoseconds not_before_{0};
};

}  // namespace millrace::pipeline
