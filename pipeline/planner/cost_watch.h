// Measures the costs of running stages, and reports when they have moved from the planned costs.
//
// It measures wall time, from an operation's start to its end, because that decides the frame rate.
// A core that is shared, throttled or short of memory bandwidth makes a stage slow without more CPU
// time. A stage may also have several threads. The median of a window is robust against single
// interrupted operations.
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

/// The movement of the stage that moved most. A stage's movement is the sum of the differences of
/// its forward, backward and update, as a share of the slowest stage's planned time. So a small
/// stage may double without effect. REQUIRES: both have the same size.
[[nodiscard]] double Movement(const std::vector<StageCost>& planned,
                              const std::vector<StageCost>& measured);

/// The times of the running plan's stages, in milliseconds.
///
/// Record() is for the thread that runs the operation, one at a time for each stage and kind. It
/// takes no lock and allocates nothing. Everything else is for one thread.
class CostWatch {
 public:
  /// The length of the median's window, and the fewest operations that give a median.
  static constexpr int kWindow = 32;
  static constexpr int kMinOperations = 16;
  /// An operation has run "lately" if it ran within this number of samples. At the slowest
  /// learning, one sample in 64 is learned from.
  static constexpr std::int64_t kLately = 128;

  struct Options {
    /// Stages of the largest plan.
    int max_stages = 1;
    /// The movement at which costs count as moved; 0: never.
    double share = 0.25;
  };

  explicit CostWatch(const Options& options);

  CostWatch(const CostWatch&) = delete;
  CostWatch& operator=(const CostWatch&) = delete;

  /// Sets the planned costs of the stages. Moved() returns nullopt before `not_before`.
  void PlannedWith(std::vector<StageCost> planned, nanoseconds not_before);

  /// Forgets all times, because other stages will run. REQUIRES: nothing runs.
  void Forget();

  /// Records that `step` took `took`. Do not record steps without work, such as a backward without
  /// a gradient: they would count as cheap.
  void Record(const Step& step, nanoseconds took);

  /// In the place of Record(): the costs of the stages, until Forget().
  void Report(std::vector<StageCost> measured) { reported_ = std::move(measured); }

  /// The costs of the stages, once every stage has gone forward often enough. A kind of operation
  /// may not have run lately, because learning is reduced to keep the rate. Its cost is then
  /// assumed to have moved as the stage's forwards have. If the stage splits no backward, the part
  /// for the weights is assumed to have moved as the whole.
  [[nodiscard]] std::optional<std::vector<StageCost>> Measured() const;

  /// Measured(), if it has moved from the plan by more than the share and `now` is not before
  /// `not_before`.
  [[nodiscard]] std::optional<std::vector<StageCost>> Moved(nanoseconds now) const;

 private:
  // The last times of one kind of operation of one stage.
  class alignas(64) Times {
   public:
    void Add(std::int64_t sample, nanoseconds took);
    void Forget();
    [[nodiscard]] std::optional<double> MedianMs() const;
    [[nodiscard]] bool any() const { return count_ > 0; }
    [[nodiscard]] std::int64_t newest_sample() const { return newest_sample_; }

   private:
    std::array<std::atomic<std::int64_t>, kWindow> nanoseconds_ = {};
    std::atomic<std::int64_t> count_ = 0;
    std::atomic<std::int64_t> newest_sample_ = 0;
  };
  using OfStage = std::array<Times, kOperationKinds>;

  // Constant after construction.
  const Options options_;

  // Self-synchronized; allocated at construction.
  std::vector<OfStage> times_;

  // For the one thread.
  std::vector<StageCost> planned_;
  std::optional<std::vector<StageCost>> reported_;
  nanoseconds not_before_{0};
};

}  // namespace millrace::pipeline
