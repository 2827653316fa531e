#include "pipeline/recovery/checkpoint_writer.h"

#include <pthread.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/exception_to_status.h"
#include "base/foreign_error.h"
#include "base/status.h"
#include "pipeline/checkpoint/checkpoint_facts.h"
#include "pipeline/checkpoint/checkpoint_folders.h"

namespace millrace::pipeline {

absl::StatusOr<std::unique_ptr<CheckpointWriter>> CheckpointWriter::Open(
    const CheckpointOptions& options, const LearnerHooks& hooks, const LayerChain& chain) {
  MILLRACE_ASSIGN_OR_RETURN(
      Checkpoints checkpoints,
      Checkpoints::Open({.folder = options.folder, .keep = options.keep}, chain));
  MILLRACE_ASSIGN_OR_RETURN(Checkpoints::Found found, checkpoints.Read());
  checkpoints.SetRefusedAside(found);
  return std::unique_ptr<CheckpointWriter>(
      new CheckpointWriter(options, hooks, std::move(checkpoints), std::move(found)));
}

CheckpointWriter::CheckpointWriter(const CheckpointOptions& options, const LearnerHooks& hooks,
                                   Checkpoints checkpoints, Checkpoints::Found found)
    : options_(options),
      hooks_(hooks),
      resumption_({.checkpoint = std::move(found.folder), .refused = std::move(found.refused)}),
      newest_(std::move(found.newest)),
      checkpoints_(std::move(checkpoints)) {
  if (newest_) {
    resumption_.first_sample = newest_->network.sample + 1;
    resumption_.position = ReadFacts(newest_->facts).position;
  }
  last_ = resumption_.first_sample - 1;
  figures_.kept_until = WallTime();
  writer_ = std::jthread([this] { Work(); });
}

bool CheckpointWriter::IsDue(std::int64_t sample) const {
  const MutexLock lock(mu_);
  if (closed_) return false;
  // A checkpoint that is already queued satisfies the request.
  const bool wanted = IsRequested() && !waiting_ && sample > last_;
  return wanted || sample >= last_ + options_.every;
}

std::int64_t CheckpointWriter::Request() {
  const MutexLock lock(mu_);
  return ++requested_;
}

void CheckpointWriter::Offer(Checkpoint checkpoint) {
  const MutexLock lock(mu_);
  if (closed_) return;
  last_ = checkpoint.network.sample;
  waiting_ = std::move(checkpoint);
  changed_.notify_all();
}

void CheckpointWriter::Finish(std::optional<Checkpoint> last) {
  {
    const MutexLock lock(mu_);
    if (!closed_ && last && last->network.sample > last_) waiting_ = std::move(last);
    closed_ = true;
    changed_.notify_all();
  }
  if (!writer_.joinable()) return;
  writer_.join();
  checkpoints_.Release();
}

CheckpointFigures CheckpointWriter::figures() const {
  const MutexLock lock(mu_);
  return figures_;
}

void CheckpointWriter::Work() {
  pthread_setname_np(pthread_self(), "checkpoints");
  while (true) {
    const std::optional<Task> next = Next();
    if (!next) return;
    Do(*next);
  }
}

void CheckpointWriter::Do(const Task& task) {
  const std::int64_t sample = task.checkpoint.network.sample;
  const std::chrono::nanoseconds begin = MonotonicClock().Now();
  const absl::Status written = Write(task.checkpoint);
  Note(sample, written, MonotonicClock().Now() - begin);
  if (hooks_.on_write) {
    hooks_.on_write({.status = written, .name = CheckpointName(sample), .answers = task.answers});
  }
}

absl::Status CheckpointWriter::Write(const Checkpoint& checkpoint) {
  const auto failed = [&checkpoint](std::string_view what) {
    return absl::InternalError(absl::StrCat("cannot write a checkpoint after sample ",
                                            checkpoint.network.sample, ": ", CauseLine(what)));
  };
  return ExceptionToStatus([&] { return checkpoints_.Write(checkpoint); }, failed);
}

// nullopt: no checkpoint remains to be written.
std::optional<CheckpointWriter::Task> CheckpointWriter::Next() {
  const MutexLock lock(mu_);
  while (!waiting_ && !closed_) changed_.wait(mu_);
  std::optional<Checkpoint> next = std::exchange(waiting_, std::nullopt);
  if (!next) return std::nullopt;
  Task task{.checkpoint = *std::move(next)};
  task.checkpoint.kept = IsRequested();
  if (task.checkpoint.kept) task.answers = answered_ = requested_;
  return task;
}

void CheckpointWriter::Note(std::int64_t sample, const absl::Status& written,
                            std::chrono::nanoseconds took) {
  const MutexLock lock(mu_);
  figures_.writing += took;
  if (written.ok()) {
    ++figures_.written;
    figures_.kept_until = WallTime();
    return;
  }
  ++figures_.failed;
  // The next good weights try again, without waiting for the regular interval.
  if (last_ == sample) last_ = sample - options_.every;
}

}  // namespace millrace::pipeline
