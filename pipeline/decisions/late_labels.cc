#include "pipeline/decisions/late_labels.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace millrace::pipeline {

LateLabels::LateLabels(const Options& options)
    : options_(options),
      admitted_(options.first),
      next_step_(options.first),
      first_(options.first) {
  MILLRACE_CHECK(options.window >= 1 && options.in_flight >= 0 && options.first >= 0);
}

void LateLabels::Admit(std::int64_t number, std::optional<SampleLabel> label) {
  const MutexLock lock(mu_);
  MILLRACE_CHECK(number == admitted_);
  ++admitted_;
  if (label) ++figures_.in_time;
  entries_.push_back({.label = std::move(label), .counts_from = 0});
}

absl::Status LateLabels::Add(std::int64_t number, SampleLabel label) {
  const MutexLock lock(mu_);
  if (number < options_.first || number >= admitted_) {
    ++figures_.unknown;
    const bool none = admitted_ == options_.first;
    return absl::NotFoundError(
        absl::StrCat("there is no sample ", number, "; ",
                     none ? "no sample has come in yet"
                          : absl::StrCat(options_.first, " to ", admitted_ - 1, " have come in")));
  }
  if (number + options_.window <= next_step_) {
    ++figures_.too_late;
    return absl::OutOfRangeError(absl::StrCat(
        "the label of sample ", number, " comes too late: only the last ", options_.window,
        " samples are learned from, now ", next_step_ - options_.window + 1, " and later"));
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
  next_step_ = std::max(next_step_, step + 1);
  Forget();
  const std::int64_t oldest = std::max(options_.first, step - options_.window + 1);
  MILLRACE_CHECK(oldest >= first_);
  std::vector<Labelled> labels;
  for (std::int64_t sample = oldest; sample <= step; ++sample) {
    const Entry& entry = entries_[sample - first_];
    if (!entry.label || step < entry.counts_from || step >= entry.counts_until) continue;
    const bool fresh = step == std::max(sample, entry.counts_from);
    labels.push_back({.sample = sample, .label = *entry.label, .fresh = fresh});
  }
  return labels;
}

void LateLabels::GiveUp() {
  const MutexLock lock(mu_);
  for (Entry& entry : entries_) {
    // Steps that have begun keep their labels.
    entry.counts_until = std::min(entry.counts_until, next_step_);
  }
}

// Keeps the samples of every step that Labels() may still return.
void LateLabels::Forget() {
  const std::int64_t oldest_step = next_step_ - 1 - options_.in_flight;
  while (first_ < oldest_step - options_.window + 1) {
    entries_.pop_front();
    ++first_;
  }
}

LabelFigures LateLabels::figures() const {
  const MutexLock lock(mu_);
  return figures_;
}

}  // namespace millrace::pipeline
