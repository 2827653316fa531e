// Places for a bounded number of samples' data, each marked with whose it is.
//
// The engine decides when a place may be written and read; the ring checks that it was right. Every
// place carries its sample's number, so a mistake in a plan stops the program instead of pairing a
// prediction with another sample's gradient.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"

namespace millrace::pipeline {

/// A ring of `T`, one a sample. Not synchronized: the plan orders a writer after the last reader of
/// the place's older sample, and a reader after its writer.
template <typename T>
class SlotRing {
 public:
  /// REQUIRES: slots > 0.
  explicit SlotRing(int slots) : places_(slots) { MILLRACE_CHECK(slots > 0); }

  /// Stores `value` as that of `sample`, in place of an older sample's.
  void Write(std::int64_t sample, T value) {
    Place& place = PlaceOf(sample);
    MILLRACE_CHECK(place.sample < sample);
    place = {sample, std::move(value)};
  }

  /// REQUIRES: `sample` was written and its place not overwritten.
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
