#include "pipeline/decisions/rate_backoff.h"

#include <algorithm>

namespace millrace::pipeline {

double RateBackoff::OnRollBack() {
  since_roll_back_ = 0;
  ++in_a_row_;
  scale_ /= 2;
  return scale_;
}

double RateBackoff::OnLearned() {
  if (++since_roll_back_ >= kRecoverAfter) {
    since_roll_back_ = 0;
    in_a_row_ = 0;
    scale_ = std::min(2 * scale_, 1.0);
  }
  return scale_;
}

double RateBackoff::Restart(bool whole) {
  since_roll_back_ = 0;
  in_a_row_ = 0;
  if (whole) scale_ = 1;
  return scale_;
}

}  // namespace millrace::pipeline
