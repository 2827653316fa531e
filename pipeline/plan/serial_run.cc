#include "pipeline/plan/serial_run.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

#include "pipeline/plan/versions_read.h"

namespace millrace::pipeline {
namespace {

using enum OperationKind;

class SerialRun {
 public:
  SerialRun(const Plan& plan, std::int64_t samples)
      : plan_(plan), reads_(plan), samples_(samples) {}

  // The steps of one device that run in this stream, in its order.
  [[nodiscard]] std::vector<Step> OrderOf(const std::vector<Operation>& operations) const {
    std::vector<Step> steps;
    for (std::int64_t period = 0; period <= LastPeriod(operations); ++period) {
      for (const Operation& operation : operations) {
        const Step step = StepOf(plan_, operation, period);
        if (Exists(plan_, step, samples_)) steps.push_back(step);
      }
    }
    return steps;
  }

  [[nodiscard]] bool CanRun(const Step& step) const {
    for (std::int64_t sample = step.first; sample <= step.last; ++sample) {
      if (!CanRun(step.kind, step.stage, sample)) return false;
      if (step.kind != kUpdate && !VersionIsMade(step.kind, step.stage, sample)) return false;
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
    if (kind == kUpdate) return Done(kBackward, stage, sample);
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

  [[nodiscard]] std::int64_t LastPeriod(const std::vector<Operation>& operations) const {
    std::int64_t last = 0;
    for (const Operation& operation : operations) {
      last = std::max(last, samples_ / plan_.samples_per_pattern + operation.shift);
    }
    return last;
  }

  const Plan& plan_;
  const VersionsRead reads_;
  const std::int64_t samples_;
  std::set<std::tuple<OperationKind, int, std::int64_t>> done_;
};

}  // namespace

Plan WithoutBounds(Plan plan, int samples) {
  for (StageRules& rules : plan.stages) rules.slots = rules.versions = samples + 1;
  for (Channel& channel : plan.channels) channel.slots = channel.gradient_slots = samples;
  return plan;
}

void RunSerially(const Plan& plan, std::int64_t samples, absl::FunctionRef<void(const Step&)> run) {
  SerialRun state(plan, samples);
  std::vector<std::vector<Step>> orders;
  orders.reserve(plan.devices.size());
  for (const auto& operations : plan.devices) orders.push_back(state.OrderOf(operations));
  std::vector<std::size_t> next(orders.size(), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t device = 0; device < orders.size(); ++device) {
      if (next[device] == orders[device].size()) continue;
      const Step& step = orders[device][next[device]];
      if (!state.CanRun(step)) continue;
      run(step);
      state.MarkDone(step);
      ++next[device];
      moved = true;
    }
  }
}

}  // namespace millrace::pipeline
