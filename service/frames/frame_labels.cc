#include "service/frames/frame_labels.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/status.h"
#include "base/truncate.h"

namespace millrace::service {
namespace {

using pipeline::SampleLabel;

// Far more frames than a queue holds. Older frames have been dropped.
constexpr std::size_t kMaxWaiting = 1024;

// The maximum length of a name in a message, so that the rest of the message stays visible.
constexpr std::size_t kMaxNameBytes = 100;

LabelOutcome OutcomeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return LabelOutcome::kAdded;
    case absl::StatusCode::kOutOfRange:
      return LabelOutcome::kTooLate;
    case absl::StatusCode::kAlreadyExists:
      return LabelOutcome::kRepeated;
    case absl::StatusCode::kInvalidArgument:
      return LabelOutcome::kInvalid;
    default:
      return LabelOutcome::kUnknown;
  }
}

absl::Status HasOne(std::int64_t frame) {
  return absl::AlreadyExistsError(
      absl::StrCat("frame ", frame, " has a label already; the first one stays"));
}

// Limits the class names in a message.
std::string SomeOf(const std::vector<std::string>& classes) {
  constexpr std::size_t kMaxClasses = 10;
  if (classes.size() <= kMaxClasses) return absl::StrJoin(classes, ", ");
  return absl::StrCat(absl::StrJoin(classes.begin(), classes.begin() + kMaxClasses, ", "), " and ",
                      classes.size() - kMaxClasses, " more");
}

double SquaredError(const std::vector<float>& values, const std::vector<float>& right) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double error = values[i] - right[i];
    sum += error * error;
  }
  return sum / static_cast<double>(values.size());
}

}  // namespace

std::string_view Name(LabelOutcome outcome) {
  switch (outcome) {
    case LabelOutcome::kAdded:
      return "added";
    case LabelOutcome::kTooLate:
      return "too_late";
    case LabelOutcome::kUnknown:
      return "unknown";
    case LabelOutcome::kRepeated:
      return "repeated";
    case LabelOutcome::kInvalid:
      return "invalid";
    case LabelOutcome::kUnused:
      break;
  }
  return "unused";
}

FrameLabels::FrameLabels(pipeline::LabelledTask task, Teach teach, std::int64_t first_frame)
    : task_(std::move(task)),
      teach_(std::move(teach)),
      newest_(first_frame - 1),
      forgot_(first_frame > 0) {
  counts_.task = task_.task;
}

std::optional<SampleLabel> FrameLabels::Begin(std::int64_t frame, std::int64_t sample) {
  const MutexLock lock(mu_);
  MILLRACE_CHECK(frame > newest_ && !admitting_);
  newest_ = frame;
  admitting_ = true;
  while (!waiting_.empty() && waiting_.begin()->first < frame) {
    waiting_.erase(waiting_.begin());
    Count(LabelOutcome::kUnused);
  }
  std::optional<SampleLabel> label;
  if (const auto known = waiting_.find(frame); known != waiting_.end()) {
    label = std::move(known->second);
    waiting_.erase(known);
  }
  entries_.push_back({.frame = frame, .sample = sample, .label = label});
  return label;
}

void FrameLabels::End(bool admitted) {
  std::optional<SampleLabel> label;
  std::int64_t sample = 0;
  {
    const MutexLock lock(mu_);
    MILLRACE_CHECK(admitting_);
    admitting_ = false;
    if (const auto known = waiting_.find(newest_); known != waiting_.end()) {
      label = std::move(known->second);
      waiting_.erase(known);
    }
    // After a prediction, the entry may have left a window of one sample.
    Entry* const entry = Find(newest_);
    const bool known = admitted && entry != nullptr;
    const bool in_vain = !admitted && entry != nullptr && entry->label;
    if (in_vain || (label && !known)) Count(LabelOutcome::kUnused);
    if (!admitted) entries_.pop_back();
    if (!label || !known) return;
    // The entry has this label from now on; a second label is a repetition.
    sample = entry->sample;
    entry->label = label;
    if (entry->outputs != nullptr) Score(*entry, *label);
  }
  if (teach_(sample, *label).ok()) return;
  const MutexLock lock(mu_);
  Count(LabelOutcome::kUnused);
}

void FrameLabels::Finish() {
  const MutexLock lock(mu_);
  for (std::size_t i = 0; i < waiting_.size(); ++i) Count(LabelOutcome::kUnused);
  waiting_.clear();
}

void FrameLabels::OnPrediction(const pipeline::ModelPrediction& model) {
  const MutexLock lock(mu_);
  const auto entry =
      std::lower_bound(entries_.begin(), entries_.end(), model.sample,
                       [](const Entry& e, auto sample) { return e.sample < sample; });
  MILLRACE_CHECK(entry != entries_.end() && entry->sample == model.sample);
  if (model.finite) {  // A value that is not finite would make every mean invalid.
    entry->outputs = model.outputs;
    entry->best_class = model.best_class;
    if (const auto& label = entry->label) Score(*entry, *label);
  }
  // This step has begun. A sample outside the next step's window is no longer learned from.
  while (!entries_.empty() && entries_.front().sample <= model.sample + 1 - task_.window) {
    entries_.pop_front();
    forgot_ = true;
  }
}

absl::Status FrameLabels::Add(std::int64_t frame, const ClientLabel& label, std::int64_t received) {
  absl::StatusOr<SampleLabel> read = Read(label);
  absl::Status added =
      read.ok() ? Place(frame, *std::move(read), received) : std::move(read).status();
  const MutexLock lock(mu_);
  Count(OutcomeOf(added));
  return added;
}

std::string FrameLabels::NameOf(int number) const {
  const bool known = number >= 0 && number < static_cast<int>(task_.classes.size());
  return known ? task_.classes[number] : "";
}

LabelCounts FrameLabels::counts() const {
  const MutexLock lock(mu_);
  LabelCounts counts = counts_;
  counts.recent_score = recent_.mean();
  return counts;
}

absl::Status FrameLabels::NoSuchClass(const std::string& name) const {
  const std::string shown = Truncated(name, kMaxNameBytes);
  return absl::InvalidArgumentError(
      task_.classes.empty()
          ? absl::StrCat("'", shown, "' names a class; this stream has no classes with names")
          : absl::StrCat("there is no class '", shown, "'; use one of: ", SomeOf(task_.classes)));
}

absl::StatusOr<SampleLabel> FrameLabels::Read(const ClientLabel& label) const {
  SampleLabel read;
  if (const auto* const name = std::get_if<std::string>(&label)) {
    const auto known = std::find(task_.classes.begin(), task_.classes.end(), *name);
    if (known == task_.classes.end()) return NoSuchClass(*name);
    read = std::int64_t{known - task_.classes.begin()};
  } else if (const auto* const number = std::get_if<std::int64_t>(&label)) {
    read = *number;
  } else {
    read = std::get<std::vector<float>>(label);
  }
  MILLRACE_RETURN_IF_ERROR(pipeline::CheckLabel(read, task_.task, task_.outputs));
  return read;
}

absl::Status FrameLabels::Place(std::int64_t frame, SampleLabel label, std::int64_t received) {
  std::int64_t sample = 0;
  {
    const MutexLock lock(mu_);
    if (frame < 0 || frame >= received) {
      return absl::NotFoundError(
          absl::StrCat("frame ", frame, " has not come; ", received, " have, counted from 0"));
    }
    const Entry* const entry = frame > newest_ ? nullptr : Find(frame);
    if (frame <= newest_ && entry == nullptr) return NoSuchFrame(frame);
    if (entry != nullptr && entry->label) return HasOne(frame);
    if (entry == nullptr || (frame == newest_ && admitting_)) return Wait(frame, std::move(label));
    sample = entry->sample;
  }
  return Give(frame, sample, std::move(label));
}

absl::Status FrameLabels::Wait(std::int64_t frame, SampleLabel label) {
  if (!waiting_.emplace(frame, std::move(label)).second) return HasOne(frame);
  if (waiting_.size() > kMaxWaiting) {
    waiting_.erase(waiting_.begin());
    Count(LabelOutcome::kUnused);
  }
  return absl::OkStatus();
}

absl::Status FrameLabels::Give(std::int64_t frame, std::int64_t sample, SampleLabel label) {
  absl::Status given = teach_(sample, label);
  const MutexLock lock(mu_);
  if (absl::IsOutOfRange(given)) return TooLate(frame);
  if (absl::IsAlreadyExists(given)) return HasOne(frame);
  if (!given.ok()) return given;
  // The model learns from the label even if its prediction can no longer be scored.
  if (Entry* const entry = Find(frame)) {
    if (entry->outputs != nullptr) Score(*entry, label);
    entry->label = std::move(label);
  }
  return given;
}

FrameLabels::Entry* FrameLabels::Find(std::int64_t frame) {
  const auto entry = std::lower_bound(entries_.begin(), entries_.end(), frame,
                                      [](const Entry& e, auto number) { return e.frame < number; });
  return entry != entries_.end() && entry->frame == frame ? &*entry : nullptr;
}

absl::Status FrameLabels::NoSuchFrame(std::int64_t frame) const {
  if (forgot_ && (entries_.empty() || frame < entries_.front().frame)) return TooLate(frame);
  return absl::NotFoundError(absl::StrCat("frame ", frame, " was dropped and got no prediction"));
}

absl::Status FrameLabels::TooLate(std::int64_t frame) const {
  const std::int64_t oldest = entries_.empty() ? newest_ + 1 : entries_.front().frame;
  return absl::OutOfRangeError(
      absl::StrCat("the label of frame ", frame, " comes too late: only the last ", task_.window,
                   " predicted frames are learned from; ", std::max(oldest, frame + 1),
                   " is the oldest that can still be labelled"));
}

void FrameLabels::Score(const Entry& entry, const SampleLabel& label) {
  ++counts_.scored;
  if (const auto* const right = std::get_if<std::int64_t>(&label)) {
    const bool is_right = *right == entry.best_class;
    if (is_right) ++counts_.right;
    recent_.Record(is_right ? 1 : 0);
    return;
  }
  const double error = SquaredError(*entry.outputs, std::get<std::vector<float>>(label));
  counts_.squared_error_sum += error;
  recent_.Record(error);
}

void FrameLabels::Count(LabelOutcome outcome) {
  ++counts_.labels[static_cast<std::size_t>(outcome)];
}

}  // namespace millrace::service
