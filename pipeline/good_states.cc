#include "pipeline/good_states.h"

#include <algorithm>
#include <utility>

namespace millrace::pipeline {
namespace {

constexpr double kLeastScale = 1.0 / 64;

}  // namespace

void GoodStates::Add(NetworkState state, std::int64_t proven) {
  if (!AllFinite(state)) return;
  const MutexLock lock(mu_);
  Prove(proven);
  unproven_.push_back(std::move(state));
  if (unproven_.size() > most_unproven_) unproven_.pop_front();
}

NetworkState GoodStates::Settle(std::int64_t proven) {
  const MutexLock lock(mu_);
  Prove(proven);
  unproven_.clear();
  return good_;
}

void GoodStates::Prove(std::int64_t proven) {
  while (!unproven_.empty() && unproven_.front().sample <= proven) {
    good_ = std::move(unproven_.front());
    unproven_.pop_front();
  }
}

double RateScale::OnRollBack() {
  quiet_ = 0;
  scale_ = std::max(scale_ / 2, kLeastScale);
  return scale_;
}

double RateScale::OnLearned() {
  if (++quiet_ >= recover_after_) {
    quiet_ = 0;
    scale_ = std::min(2 * scale_, 1.0);
  }
  return scale_;
}

}  // namespace millrace::pipeline
