#include "pipeline/good_states.h"

#include <algorithm>
#include <utility>

namespace millrace::pipeline {
namespace {

// Each holds the network twice, with what an optimizer keeps.
constexpr std::size_t kMostUnproven = 4;
constexpr double kLeastScale = 1.0 / 64;

}  // namespace

void GoodStates::Add(NetworkState state, std::int64_t proven) {
  if (!AllFinite(state)) return;
  const MutexLock lock(mu_);
  Settle(proven);
  unproven_.push_back(std::move(state));
  if (unproven_.size() > kMostUnproven) unproven_.pop_front();
}

NetworkState GoodStates::Newest() const {
  const MutexLock lock(mu_);
  return good_;
}

void GoodStates::Forget() {
  const MutexLock lock(mu_);
  unproven_.clear();
}

void GoodStates::Settle(std::int64_t proven) {
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

double RateScale::OnSample() {
  if (++quiet_ >= recover_after_) {
    quiet_ = 0;
    scale_ = std::min(2 * scale_, 1.0);
  }
  return scale_;
}

}  // namespace millrace::pipeline
