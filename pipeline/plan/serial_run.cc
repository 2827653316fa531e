#include "pipeline/plan/serial_run.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

#include "base/check.h"
#include "pipeline/plan/plan_cursor.h"
#include "pipeline/plan/stage_walk.h"
#include "pipeline/plan/versions_read.h"

namespace millrace::pipeline {
namespace {

using enum OperationKind;

class SerialRun {
 public:
  SerialRun(const Plan& plan, std::int64_t samples)
      : plan_(plan),
        reads_(plan),
        samples_(samples),
        end_(samples / plan.samples_per_pattern + MaxShift(plan) + 1) {
    for (int stage = 1; stage <= plan.stage_count(); ++stage) MILLRACE_CHECK(plan.IsOwn(stage));
  }

  // Moves `at` to the next step that runs in this stream. Returns whether there is one.
  [[nodiscard]] bool Find(PlanCursor& at) const {
    while (at.period() < end_ && !Exists(plan_, at.step(), samples_)) at.Next();
    return at.period() < end_;
  }

  [[nodiscard]] bool CanRun(const Step& step) const {
    for (std::int64_t sample = step.first; sample <= step.last; ++sample) {
      if (!CanRun(step.kind, step.stage, sample)) return false;
      const bool reads = step.kind == kForward || step.kind == kBackward;
      if (reads && !VersionIsMade(step.kind, step.stage, sample)) return false;
    }
    return true;
  }

  void MarkDone(const Step& step) {
    for (std::int64_t sample = step.first; sample <= step.last; ++sample) {
      done_.emplace(step.kind, step.stage, sample);
    }
  }

 private:
  [[nodiscard]] bool CanRun(OperationKind kind, int stage, std::int64_t sample) const {
    if (kind == kWeightGradient) return Done(kBackward, stage, sample);
    if (kind == kUpdate) return Done(plan_.LastOfBackward(stage), stage, sample);
    if (kind == kBackward && !Done(kForward, stage, sample + plan_.rules(stage).lead)) return false;
    return std::all_of(plan_.channels.begin(), plan_.channels.end(), [&](const Channel& channel) {
      if (kind == kBackward && !plan_.CarriesGradients(channel)) return true;
      const bool reads = kind == kForward ? channel.to == stage : channel.from == stage;
      const int maker = kind == kForward ? channel.from : channel.to;
      return !reads || maker == 0 || Done(kind, maker, sample);
    });
  }

  // Whether the version of the weights that it names exists.
  [[nodiscard]] bool VersionIsMade(OperationKind kind, int stage, std::int64_t sample) const {
    const std::int64_t version = reads_.Version(kind, stage, sample, 0, 0);
    return version == 0 || Done(kUpdate, stage, version * plan_.samples_per_pattern - 1);
  }

  [[nodiscard]] bool Done(OperationKind kind, int stage, std::int64_t sample) const {
    return done_.contains({kind, stage, sample});
  }

  const Plan& plan_;
  const VersionsRead reads_;
  const std::int64_t samples_;
  const std::int64_t end_;  // From this period on, nothing runs.
  std::set<std::tuple<OperationKind, int, std::int64_t>> done_;
};

}  // namespace

void RunSerially(const Plan& plan, std::int64_t samples, absl::FunctionRef<void(const Step&)> run) {
  SerialRun state(plan, samples);
  std::vector<PlanCursor> cursors = CursorsOf(plan);
  for (bool moved = true; moved;) {
    moved = false;
    for (PlanCursor& at : cursors) {
      if (!state.Find(at) || !state.CanRun(at.step())) continue;
      run(at.step());
      state.MarkDone(at.step());
      at.Next();
      moved = true;
    }
  }
}

}  // namespace millrace::pipeline
