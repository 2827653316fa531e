// The factors on the learning rate, by sample.
//
// A factor belongs to a sample from its admission on. So the updates of all stages use it, on all
// ranks, whatever the timing.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "pipeline/plan/plan.h"

namespace millrace::pipeline {

/// The factors of the samples under way. One thread sets them, others read them. The plan orders a
/// sample's updates after its admission.
class RateScales {
 public:
  explicit RateScales(const Plan& plan) : places_(MaxUnderWay(plan)) {}

  void Set(std::int64_t sample, double scale) {
    Place& place = PlaceOf(sample);
    place.scale.store(scale, std::memory_order_relaxed);
    place.sample.store(sample, std::memory_order_release);
  }

  /// REQUIRES: the sample was admitted, and not all its updates are done.
  [[nodiscard]] double Of(std::int64_t sample) {
    Place& place = PlaceOf(sample);
    MILLRACE_CHECK(place.sample.load(std::memory_order_acquire) == sample);
    return place.scale.load(std::memory_order_relaxed);
  }

 private:
  struct Place {
    std::atomic<std::int64_t> sample = -1;
    std::atomic<double> scale = 1;
  };

  // An upper bound: each slot holds one sample, and an update runs behind its backward by patterns.
  static std::size_t MaxUnderWay(const Plan& plan) {
    std::int64_t samples = 0;
    for (const StageRules& rules : plan.stages) samples += rules.slots;
    for (const Channel& channel : plan.channels) samples += channel.slots;
    int shift = 0;
    for (const auto& order : plan.devices) {
      for (const Operation& operation : order) shift = std::max(shift, operation.shift);
    }
    return samples + std::int64_t{plan.samples_per_pattern} * (shift + 2);
  }

  Place& PlaceOf(std::int64_t sample) { return places_[sample % places_.size()]; }

  std::vector<Place> places_;
};

}  // namespace millrace::pipeline
