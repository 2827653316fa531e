#include "pipeline/recovery/good_states.h"

#include <algorithm>
#include <utility>

namespace millrace::pipeline {

bool GoodStates::Add(NetworkState state) {
  if (!AllFinite(state)) return false;
  const MutexLock lock(mu_);
  if (unproven_.size() >= most_unproven_) Thin();
  unproven_.push_back(std::move(state));
  return true;
}

std::optional<GoodState> GoodStates::Prove(std::int64_t sample, double ratio) {
  const MutexLock lock(mu_);
  proven_ = sample;
  ratio_ = ratio;
  return TakeProven() ? std::optional(good_) : std::nullopt;
}

GoodState GoodStates::Settle() {
  const MutexLock lock(mu_);
  TakeProven();
  unproven_.clear();
  return good_;
}

bool GoodStates::any_proven() const {
  const MutexLock lock(mu_);
  return any_proven_;
}

void GoodStates::Reset(NetworkState start) {
  const MutexLock lock(mu_);
  good_ = {.state = std::move(start)};
  any_proven_ = false;
  unproven_.clear();
}

// Keeps the oldest state, which is the first to prove good. Replacing it by newer ones would never
// prove a state.
void GoodStates::Thin() {
  std::deque<NetworkState> kept;
  for (std::size_t i = 0; i < unproven_.size(); i += 2) kept.push_back(std::move(unproven_[i]));
  unproven_ = std::move(kept);
}

// Returns whether a state has proven good.
bool GoodStates::TakeProven() {
  bool any = false;
  while (!unproven_.empty() && unproven_.front().sample <= proven_) {
    good_ = {.state = std::move(unproven_.front()), .ratio = ratio_};
    unproven_.pop_front();
    any = any_proven_ = true;
  }
  return any;
}

double RateScale::OnRollBack() {
  quiet_ = 0;
  ++in_a_row_;
  scale_ /= 2;
  return scale_;
}

double RateScale::OnLearned() {
  if (++quiet_ >= recover_after_) {
    quiet_ = 0;
    in_a_row_ = 0;
    scale_ = std::min(2 * scale_, 1.0);
  }
  return scale_;
}

double RateScale::TryAgain(bool whole) {
  quiet_ = 0;
  in_a_row_ = 0;
  if (whole) scale_ = 1;
  return scale_;
}

}  // namespace millrace::pipeline
