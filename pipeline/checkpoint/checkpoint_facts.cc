#include "pipeline/checkpoint/checkpoint_facts.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace millrace::pipeline {
namespace {

constexpr char kTask[] = "task";
constexpr char kSeed[] = "seed";
constexpr char kOptimizer[] = "optimizer";
constexpr char kSchedule[] = "schedule";
constexpr char kSamplesPerPattern[] = "samples_per_pattern";
constexpr char kPattern[] = "pattern";
constexpr char kRollBacks[] = "roll_backs";
constexpr char kDrifts[] = "drifts";
constexpr char kRateScale[] = "learning_rate_ratio";
constexpr char kFrames[] = "frames";
constexpr char kEpochs[] = "epochs";

using Facts = std::map<std::string, std::string>;

std::string Text(const Facts& facts, const char* name) {
  const auto found = facts.find(name);
  return found != facts.end() ? found->second : std::string();
}

template <typename Whole>
void Take(const Facts& facts, const char* name, Whole& value) {
  Whole read = 0;
  if (absl::SimpleAtoi(Text(facts, name), &read)) value = read;
}

void Take(const Facts& facts, const char* name, double& value) {
  double read = 0;
  if (absl::SimpleAtod(Text(facts, name), &read)) value = read;
}

}  // namespace

Facts WriteFacts(const CheckpointFacts& facts) {
  Facts written = {{kTask, facts.task},
                   {kOptimizer, facts.optimizer},
                   {kSchedule, facts.schedule},
                   {kSamplesPerPattern, absl::StrCat(facts.samples_per_pattern)},
                   {kPattern, facts.pattern},
                   {kRollBacks, absl::StrCat(facts.learning.roll_backs)},
                   {kDrifts, absl::StrCat(facts.learning.drifts)},
                   {kRateScale, absl::StrCat(facts.learning.rate_scale)},
                   {kFrames, absl::StrCat(facts.position.frames)},
                   {kEpochs, absl::StrCat(facts.position.epochs)}};
  if (facts.seed) written[kSeed] = absl::StrCat(*facts.seed);
  return written;
}

CheckpointFacts ReadFacts(const Facts& written) {
  CheckpointFacts facts;
  facts.task = Text(written, kTask);
  std::uint64_t seed = 0;
  if (absl::SimpleAtoi(Text(written, kSeed), &seed)) facts.seed = seed;
  if (written.contains(kOptimizer)) facts.optimizer = Text(written, kOptimizer);
  facts.schedule = Text(written, kSchedule);
  Take(written, kSamplesPerPattern, facts.samples_per_pattern);
  facts.pattern = Text(written, kPattern);
  Take(written, kRollBacks, facts.learning.roll_backs);
  Take(written, kDrifts, facts.learning.drifts);
  Take(written, kRateScale, facts.learning.rate_scale);
  Take(written, kFrames, facts.position.frames);
  Take(written, kEpochs, facts.position.epochs);
  return facts;
}

absl::Status CheckTask(const CheckpointFacts& facts, const std::string& folder,
                       const std::string& task) {
  if (facts.task.empty() || facts.task == task) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the checkpoint ", folder, " was learned for ", facts.task, " where this is ",
                   task, "; configure that again, or another folder to start from the beginning"));
}

absl::Status CheckSeed(const CheckpointFacts& facts, const std::string& folder,
                       std::uint64_t seed) {
  if (!facts.seed || *facts.seed == seed) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the checkpoint ", folder, " was begun with seed ", *facts.seed, " where ", seed,
      " is configured; configure that again, or another folder to start from the beginning"));
}

}  // namespace millrace::pipeline
