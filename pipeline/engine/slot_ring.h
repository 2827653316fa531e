// Slots for the data of a bounded number of samples, each marked with its sample.
//
// The engine decides when a slot may be written and read; the ring checks it. Every slot carries
// its sample's number. So a mistake in a plan stops the program, instead of pairing a prediction
// with another sample's gradient.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"

namespace millrace::pipeline {

/// A ring of `T`, one for each sample. Not synchronized: the plan orders a writer after the last
/// reader of the slot's older sample, and a reader after its writer.
template <typename T>
class SlotRing {
 public:
  /// REQUIRES: slots > 0.
  explicit SlotRing(int slots) : places_(slots) { MILLRACE_CHECK(slots > 0); }

  /// Stores `value` for `sample`, over an older sample's value.
  void Write(std::int64_t sample, T value) {
    Place& place = PlaceOf(sample);
    MILLRACE_CHECK(place.sample < sample);
    place = {sample, std::move(value)};
  }

  /// Whether `sample` was written and its slot not overwritten.
  [[nodiscard]] bool Holds(std::int64_t sample) { return PlaceOf(sample).sample == sample; }

  /// REQUIRES: Holds(sample).
  [[nodiscard]] T& Read(std::int64_t sample) {
    Place& place = PlaceOf(sample);
    MILLRACE_CHECK(place.sample == sample);
    return place.value;
  }

 private:
  struct Place {
    std::int64_t sample = -1;
    T value{};
  };

  Place& PlaceOf(std::int64_t sample) { return places_[sample % places_.size()]; }

  std::vector<Place> places_;
};

}  // namespace millrace::pipeline
