#include "pipeline/good_states.h"

#include <algorithm>
#include <utility>

namespace millrace::pipeline {

std::optional<NetworkState> GoodStates::Add(NetworkState state, std::int64_t proven) {
  const bool finite = AllFinite(state);
  const MutexLock lock(mu_);
  const bool newer = Prove(proven);
  if (finite) {
    if (unproven_.size() >= most_unproven_) Thin();
    unproven_.push_back(std::move(state));
  }
  return newer ? std::optional(good_) : std::nullopt;
}

NetworkState GoodStates::Settle(std::int64_t proven) {
  const MutexLock lock(mu_);
  Prove(proven);
  unproven_.clear();
  return good_;
}

bool GoodStates::any_proven() const {
  const MutexLock lock(mu_);
  return any_proven_;
}

void GoodStates::Reset(NetworkState start) {
  const MutexLock lock(mu_);
  good_ = std::move(start);
  any_proven_ = false;
  unproven_.clear();
}

// The oldest stays, as it proves first: giving it up for a newer one, for ever, would prove none.
void GoodStates::Thin() {
  std::deque<NetworkState> kept;
  for (std::size_t i = 0; i < unproven_.size(); i += 2) kept.push_back(std::move(unproven_[i]));
  unproven_ = std::move(kept);
}

// Whether any has.
bool GoodStates::Prove(std::int64_t proven) {
  bool any = false;
  while (!unproven_.empty() && unproven_.front().sample <= proven) {
    good_ = std::move(unproven_.front());
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
