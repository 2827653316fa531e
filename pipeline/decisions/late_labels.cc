#include "pipeline/decisions/late_labels.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace millrace::pipeline {

LateLabels::LateLabels(const Options& options)
    : window_(options.window),
      begin_(options.first),
      in_flight_(options.in_flight),
      admitted_(options.first),
      next_step_(options.first),
      first_(options.first) {
  MILLRACE_CHECK(options.window >= 1 && options.in_flight >= 0 && options.first >= 0);
}

void LateLabels::Admit(std::int64_t number, std::optional<SampleLabel> label,
                       int learn_from_every) {
  const MutexLock lock(mu_);
  MILLRACE_CHECK(number == admitted_);
  ++admitted_;
  if (label) ++figures_.in_time;
  entries_.push_back(
      {.label = std::move(label), .counts_from = 0, .learn_from_every = learn_from_every});
}

void LateLabels::Withdraw() {
  const MutexLock lock(mu_);
  MILLRACE_CHECK(admitted_ > next_step_ && !entries_.empty());
  if (entries_.back().label) --figures_.in_time;
  entries_.pop_back();
  --admitted_;
}

absl::Status LateLabels::Add(std::int64_t number, SampleLabel label) {
  const MutexLock lock(mu_);
  if (number < begin_ || number >= admitted_) {
    ++figures_.unknown;
    const bool none = admitted_ == begin_;
    return absl::NotFoundError(
        absl::StrCat("there is no sample ", number, "; ",
                     none ? "no sample has come in yet"
                          : absl::StrCat(begin_, " to ", admitted_ - 1, " have come in")));
  }
  if (number + window_ <= next_step_) {
    ++figures_.too_late;
    return absl::OutOfRangeError(
        absl::StrCat("the label of sample ", number, " comes too late: only the last ", window_,
                     " samples are learned from, now ", next_step_ - window_ + 1, " and later"));
  }
  Entry& entry = entries_[number - first_];
  if (entry.label) {
    ++figures_.repeated;
    return absl::AlreadyExistsError(
        absl::StrCat("sample ", number, " has a label already; the first one stays"));
  }
  ++(next_step_ <= number ? figures_.in_time : figures_.late);
  entry.label = std::move(label);
  entry.counts_from = next_step_;
  entry.counts_until = kInfinity;
  return absl::OkStatus();
}

std::vector<LateLabels::Labelled> LateLabels::Labels(std::int64_t step) {
  const MutexLock lock(mu_);
  MILLRACE_CHECK(step < admitted_);
  while (next_step_ <= step) Begin(next_step_++);
  Forget();
  MILLRACE_CHECK(OldestOf(step) >= first_);
  std::vector<Labelled> labels;
  for (std::int64_t sample = OldestOf(step); sample <= step; ++sample) {
    const Entry& entry = entries_[sample - first_];
    const SampleLabel* const label = LabelAt(entry, step);
    if (label == nullptr) continue;
    const bool fresh = step == std::max(sample, entry.counts_from);
    labels.push_back({.sample = sample, .label = *label, .fresh = fresh});
  }
  return labels;
}

bool LateLabels::Learns(std::int64_t step) const {
  const MutexLock lock(mu_);
  MILLRACE_CHECK(step >= first_ && step < next_step_);
  return entries_[step - first_].learns;
}

void LateLabels::Remember(std::int64_t in_flight) {
  const MutexLock lock(mu_);
  in_flight_ = std::max(in_flight_, in_flight);
}

void LateLabels::GiveUp() {
  const MutexLock lock(mu_);
  for (Entry& entry : entries_) {
    // Steps that have begun keep their labels.
    entry.counts_until = std::min(entry.counts_until, next_step_);
  }
}

// Decides whether the step learns.
void LateLabels::Begin(std::int64_t step) {
  bool labelled = false;
  for (std::int64_t sample = OldestOf(step); sample <= step && !labelled; ++sample) {
    labelled = LabelAt(entries_[sample - first_], step) != nullptr;
  }
  Entry& entry = entries_[step - first_];
  if (!labelled) return;
  entry.learns = entry.learn_from_every > 0 && left_out_ + 1 >= entry.learn_from_every;
  left_out_ = entry.learns ? 0 : left_out_ + 1;
}

const SampleLabel* LateLabels::LabelAt(const Entry& entry, std::int64_t step) {
  const bool counts = step >= entry.counts_from && step < entry.counts_until;
  return entry.label && counts ? &*entry.label : nullptr;
}

std::int64_t LateLabels::OldestOf(std::int64_t step) const {
  return std::max(begin_, step - window_ + 1);
}

// Keeps the samples of every step that Labels() may still return.
void LateLabels::Forget() {
  const std::int64_t oldest_step = next_step_ - 1 - in_flight_;
  while (first_ < oldest_step - window_ + 1) {
    entries_.pop_front();
    ++first_;
  }
}

LabelFigures LateLabels::figures() const {
  const MutexLock lock(mu_);
  return figures_;
}

}  // namespace millrace::pipeline
