// Works out the latest start of the next sample with which no later stage would wait for it, by
// going on, on paper, from what runs now as far as that can go without the sample.
//
//   L = max over stages h of ( when all that precedes F_h(t) on its device ends
//                              - the forwards and copies before h )
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "pipeline/plan/dependencies.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/stage_cost.h"

namespace millrace::pipeline {

/// Where a device is in its order.
struct DeviceState {
  std::size_t place = 0;
  std::int64_t period = 0;
  /// When the operation there began; nullopt: it waits.
  std::optional<double> running_since = {};

  /// Goes on to the next operation of an order of `places`.
  void Advance(std::size_t places) {
    running_since.reset();
    if (++place < places) return;
    place = 0;
    ++period;
  }
};

/// Where a running pipeline is, and what its operations take.
struct PipelineState {
  Progress progress;
  std::vector<DeviceState> devices;
  /// Mean time of each operation, by device and place.
  std::vector<std::vector<double>> means;
  /// Of stages 1 to D. The forwards are means, too.
  std::vector<StageCost> costs;
};

/// For one thread at a time. Allocates nothing once it has been asked.
class LatestStart {
 public:
  /// REQUIRES: both outlive this.
  LatestStart(const Plan& plan, const Dependencies& dependencies);

  /// In the past if no stage wants the sample yet, or anything at all.
  [[nodiscard]] double From(const PipelineState& state, double now);

 private:
  [[nodiscard]] const Operation& OperationAt(std::size_t d) const {
    return plan_.devices[d][devices_[d].place];
  }
  [[nodiscard]] Step StepAt(std::size_t d) const {
    return StepOf(plan_, OperationAt(d), devices_[d].period);
  }
  void Restart(const PipelineState& state, double now);
  bool Advance(const PipelineState& state, std::size_t d);
  void Finish(std::size_t d);
  [[nodiscard]] double EndOf(const Need& need, std::int64_t pattern) const;

  // Constant after construction.
  const Plan& plan_;
  const Dependencies& dependencies_;

  // Of the question at hand; kept, so that the next one need not allocate.
  Progress before_;
  Progress progress_;
  std::vector<DeviceState> devices_;
  std::vector<double> free_at_;
  // When what had not ended before will: by kind and stage, in the stage's order.
  std::array<std::vector<std::vector<double>>, kOperationKinds> ends_;
};

}  // namespace millrace::pipeline
