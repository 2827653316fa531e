// The copies between devices that a plan needs: activations on, and gradients back.
//
// A link leads from one device to another one. It carries one copy at a time, in the order in which
// its device makes them. The way back is a link of its own.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "pipeline/plan/plan.h"
#include "pipeline/plan/stage_cost.h"

namespace millrace::pipeline {

/// A product of `stage` for the stage `reader`, which is on another device: an output of its
/// forward, or a gradient of its backward.
struct DeviceCopy {
  OperationKind kind = OperationKind::kForward;
  int stage = 1;
  int reader = 2;
  std::size_t from = 0;
  std::size_t to = 0;
  /// The time of the copy of one sample.
  double cost = 0;
  /// The number of the link, from 0.
  std::size_t link = 0;
};

/// All copies of a plan. Constant after construction.
class DeviceCopies {
 public:
  /// `costs`: of stages 1 to D. REQUIRES: CheckPlan(plan) is OK.
  DeviceCopies(const Plan& plan, std::span<const StageCost> costs);

  [[nodiscard]] const std::vector<DeviceCopy>& all() const { return all_; }

  /// The places in all() of the copies that an operation makes.
  [[nodiscard]] std::span<const std::size_t> of(OperationKind kind, int stage) const {
    return of_[static_cast<int>(kind)][stage];
  }

  /// The place in all() of the copy through which `reader` gets the product of `kind` from `stage`.
  /// Null without a copy: the product stays on its device, or the reader waits for room only.
  [[nodiscard]] const std::size_t* Find(OperationKind kind, int stage, const Step& reader) const;

  /// The time for which each link carries copies, by sample.
  [[nodiscard]] const std::vector<double>& loads() const { return loads_; }

 private:
  void Add(const DeviceCopy& copy);

  std::vector<DeviceCopy> all_;
  std::vector<double> loads_;
  std::array<std::vector<std::vector<std::size_t>>, kOperationKinds> of_;
};

/// When each link is free again.
class LinkTimes {
 public:
  explicit LinkTimes(const DeviceCopies& copies) : free_at_(copies.loads().size()) {}

  /// Puts a copy of `samples` samples, which exist from `ready` on, onto its link. Returns its
  /// start and its end. REQUIRES: for each link in the order of its device.
  std::pair<double, double> Carry(const DeviceCopy& copy, double ready, std::int64_t samples) {
    const double start = std::max(ready, free_at_[copy.link]);
    free_at_[copy.link] = start + copy.cost * static_cast<double>(samples);
    return {start, free_at_[copy.link]};
  }

 private:
  std::vector<double> free_at_;
};

/// The time for which the busiest link carries copies, by sample, for a chain of stages without
/// skips. `device_of`: the device of each.
[[nodiscard]] double MaxLinkLoad(std::span<const StageCost> costs, std::span<const int> device_of);

}  // namespace millrace::pipeline
