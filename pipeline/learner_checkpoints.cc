#include "pipeline/learner_checkpoints.h"

#include <pthread.h>

#include <exception>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status.h"
#include "pipeline/foreign_error.h"

namespace millrace::pipeline {
namespace {

constexpr char kSchedule[] = "schedule";
constexpr char kTask[] = "task";
constexpr char kRollBacks[] = "roll_backs";
constexpr char kDrifts[] = "drifts";
constexpr char kRateScale[] = "learning_rate_ratio";

// What is missing or no number keeps its value: all of it can be done without.
void Take(const std::map<std::string, std::string>& facts, const char* name, std::int64_t& value) {
  const auto found = facts.find(name);
  std::int64_t read = 0;
  if (found != facts.end() && absl::SimpleAtoi(found->second, &read)) value = read;
}

void Take(const std::map<std::string, std::string>& facts, const char* name, double& value) {
  const auto found = facts.find(name);
  double read = 0;
  if (found != facts.end() && absl::SimpleAtod(found->second, &read)) value = read;
}

}  // namespace

std::map<std::string, std::string> FactsOf(const LearningFigures& figures,
                                           const std::string& schedule, const std::string& task) {
  return {{kSchedule, schedule},
          {kTask, task},
          {kRollBacks, absl::StrCat(figures.roll_backs)},
          {kDrifts, absl::StrCat(figures.drifts)},
          {kRateScale, absl::StrCat(figures.rate_scale)}};
}

LearningFigures FiguresOf(const std::map<std::string, std::string>& facts) {
  LearningFigures figures;
  Take(facts, kRollBacks, figures.roll_backs);
  Take(facts, kDrifts, figures.drifts);
  Take(facts, kRateScale, figures.rate_scale);
  return figures;
}

std::string TaskOf(const std::map<std::string, std::string>& facts) {
  const auto found = facts.find(kTask);
  return found != facts.end() ? found->second : std::string();
}

absl::StatusOr<std::unique_ptr<LearnerCheckpoints>> LearnerCheckpoints::Open(
    const CheckpointOptions& options, const LayerChain& chain) {
  MILLRACE_ASSIGN_OR_RETURN(
      Checkpoints checkpoints,
      Checkpoints::Open({.folder = options.folder, .keep = options.keep}, chain));
  MILLRACE_ASSIGN_OR_RETURN(Checkpoints::Found found, checkpoints.Read());
  return std::unique_ptr<LearnerCheckpoints>(
      new LearnerCheckpoints(options, std::move(checkpoints), std::move(found)));
}

LearnerCheckpoints::LearnerCheckpoints(const CheckpointOptions& options, Checkpoints checkpoints,
                                       Checkpoints::Found found)
    : options_(options),
      resumption_({.checkpoint = std::move(found.folder), .refused = std::move(found.refused)}),
      newest_(std::move(found.newest)),
      checkpoints_(std::move(checkpoints)) {
  if (newest_) resumption_.first_sample = newest_->network.sample + 1;
  last_ = resumption_.first_sample - 1;
  writer_ = std::jthread([this] { Work(); });
}

bool LearnerCheckpoints::IsDue(std::int64_t sample) const {
  const MutexLock lock(mu_);
  return !closed_ && sample >= last_ + options_.every;
}

void LearnerCheckpoints::Offer(Checkpoint checkpoint) {
  const MutexLock lock(mu_);
  if (closed_) return;
  last_ = checkpoint.network.sample;
  waiting_ = std::move(checkpoint);
  changed_.notify_all();
}

void LearnerCheckpoints::Finish(std::optional<Checkpoint> last) {
  {
    const MutexLock lock(mu_);
    if (!closed_ && last && last->network.sample > last_) waiting_ = std::move(last);
    closed_ = true;
    changed_.notify_all();
  }
  if (writer_.joinable()) writer_.join();
}

CheckpointFigures LearnerCheckpoints::figures() const {
  const MutexLock lock(mu_);
  return figures_;
}

void LearnerCheckpoints::Work() {
  pthread_setname_np(pthread_self(), "checkpoints");
  while (const std::optional<Checkpoint> next = Next()) {
    const absl::Status written = Write(*next);
    Note(next->network.sample, written);
    if (options_.on_write) options_.on_write(written);
  }
}

absl::Status LearnerCheckpoints::Write(const Checkpoint& checkpoint) {
  try {
    return checkpoints_.Write(checkpoint);
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("cannot write a checkpoint after sample ",
                                            checkpoint.network.sample, ": ",
                                            CauseLine(error.what())));
  }
}

// Nothing: there is nothing more to write.
std::optional<Checkpoint> LearnerCheckpoints::Next() {
  const MutexLock lock(mu_);
  while (!waiting_ && !closed_) changed_.wait(mu_);
  return std::exchange(waiting_, std::nullopt);
}

void LearnerCheckpoints::Note(std::int64_t sample, const absl::Status& written) {
  const MutexLock lock(mu_);
  if (written.ok()) {
    ++figures_.written;
    figures_.last_written = WallTime();
    return;
  }
  ++figures_.failed;
  // Tried again with the next good weights, not only when the next would be due.
  if (last_ == sample) last_ = sample - options_.every;
}

}  // namespace millrace::pipeline
