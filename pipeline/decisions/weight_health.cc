#include "pipeline/decisions/weight_health.h"

namespace millrace::pipeline {

SkipReason WeightHealth::Next(const PredictionHealth& health) {
  const SkipReason refused = guard_.Next(health);
  diverged_ = guard_.Diverged();
  sound_ = guard_.Sound();
  ratio_ = guard_.Ratio();
  if (guard_.Healthy()) proven_ = guard_.window_begins() - 1;
  return refused;
}

void WeightHealth::Glimpse(bool finite) {
  guard_.Glimpse(finite);
  diverged_ = guard_.Diverged();
}

void WeightHealth::Restart() {
  guard_.Restart();
  diverged_ = false;
  sound_ = true;
  ratio_ = 1;
}

}  // namespace millrace::pipeline
