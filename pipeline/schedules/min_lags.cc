#include "pipeline/schedules/min_lags.h"

#include <algorithm>
#include <cmath>

namespace millrace::pipeline {
namespace {

// Tolerance for sums of costs, compared with a period that was summed in another order.
constexpr double kRounding = 1e-9;

// Where a stage's operations lie, counted from the start of its forward of a sample.
struct Place {
  int lag = 0;        // Periods until the backward.
  double begin = 0;   // Of the backward, in its period.
  bool late = false;  // Whether the weight gradient comes one period later.
};

// `away`: from the end of the forward to the gradient.
Place PlaceOf(const StageCost& cost, double away, double period, bool splits) {
  const double backward = splits ? cost.input_gradient() : cost.backward;
  const double rest = cost.update + (splits ? cost.weight_gradient : 0);
  const double end = period * (1 + kRounding);
  Place place{.lag = static_cast<int>(std::floor(away / period + kRounding))};
  place.begin = cost.forward + std::max(0.0, away - place.lag * period);
  if (place.begin + backward + rest <= end) return place;
  const double between = std::max(place.begin, cost.forward + rest);
  if (splits && between + backward <= end) {
    return {.lag = place.lag, .begin = between, .late = true};
  }
  return {.lag = place.lag + 1, .begin = cost.forward};
}

std::vector<Place> PlacesOf(const std::vector<StageCost>& costs, double period, bool splits) {
  std::vector<Place> places(costs.size());
  if (!(period > 0)) return places;  // Nothing costs anything.
  double away = 0;
  for (std::size_t i = costs.size(); i-- > 0;) {
    const StageCost& cost = costs[i];
    places[i] = PlaceOf(cost, away, period, splits);
    away = places[i].lag * period + places[i].begin;
    away += splits ? cost.input_gradient() : cost.backward;
    if (i > 0) away += 2 * costs[i - 1].copy;
  }
  return places;
}

}  // namespace

std::vector<StageTiming> MinLags(const std::vector<StageCost>& costs, double period,
                                 bool splits_backwards) {
  std::vector<Place> places = PlacesOf(costs, std::max(period, MinPeriod(costs)), splits_backwards);
  int behind = period == kEachStageAGroup ? static_cast<int>(places.size()) : 0;
  for (Place& place : places) {
    if (place.lag >= --behind) continue;
    place.lag = behind;
    place.late = false;
  }
  std::vector<StageTiming> timings;
  timings.reserve(places.size());
  const int first = places.front().lag;
  for (const Place& place : places) {
    timings.push_back(
        {.forward_shift = first - place.lag,
         .backward_shift = first,
         .rules = {.slots = place.lag + (place.late ? 2 : 1), .splits_backward = splits_backwards},
         .weight_gradient_shift = first + (place.late ? 1 : 0)});
  }
  return timings;
}

}  // namespace millrace::pipeline
