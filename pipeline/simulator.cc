#include "pipeline/simulator.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "pipeline/dependencies.h"

namespace millrace::pipeline {
namespace {

using enum OperationKind;

// Long enough to fill any pipeline of the given depth and see it run steadily.
int SteadyLength(const Plan& plan) { return 64 * (plan.stage_count() + 1); }

class Simulation {
 public:
  Simulation(const Plan& plan, const std::vector<StageCost>& costs,
             const std::vector<double>& arrivals)
      : plan_(plan),
        costs_(costs),
        arrivals_(arrivals),
        progress_(plan),
        timeline_(plan.stage_count()) {
    for (const auto& order : plan.devices) cursors_.push_back({&order, 0, 0, 0});
  }

  absl::StatusOr<Timeline> Run() && {
    bool moved = true;
    while (moved) {
      moved = AdvanceCamera();
      for (Cursor& cursor : cursors_) moved |= AdvanceDevice(cursor);
    }
    MILLRACE_RETURN_IF_ERROR(CheckAllRan());
    return std::move(timeline_);
  }

 private:
  struct Cursor {
    const std::vector<Operation>* order;
    std::size_t place;
    std::int64_t period;
    double free_at;

    void Next() {
      if (++place < order->size()) return;
      place = 0;
      ++period;
    }
  };

  [[nodiscard]] std::int64_t samples() const { return static_cast<std::int64_t>(arrivals_.size()); }

  [[nodiscard]] double CostOf(const Step& step) const {
    const StageCost& cost = costs_.at(step.stage - 1);
    const double one = step.kind == kForward    ? cost.forward
                       : step.kind == kBackward ? cost.backward
                                                : cost.update;
    return step.kind == kUpdate ? one : one * static_cast<double>(step.last - step.first + 1);
  }

  // When the last of `needs` is met, or nothing while that is not known yet.
  [[nodiscard]] std::optional<double> MetAt(const std::vector<Need>& needs) const {
    if (!progress_.Meets(needs)) return std::nullopt;
    double at = 0;
    for (const Need& need : needs) {
      at = std::max(at, timeline_.of(need.kind, need.stage)[need.samples - 1].end);
    }
    return at;
  }

  bool AdvanceCamera() {
    bool moved = false;
    for (;;) {
      const std::int64_t sample = progress_.done(kForward, 0);
      if (sample == samples()) return moved;
      const Step step{kForward, 0, sample, sample};
      const std::optional<double> met = MetAt(NeedsOf(plan_, step));
      if (!met) return moved;
      const double at = std::max({*met, arrivals_[sample], admitted_at_});
      admitted_at_ = at;
      Finish(step, {at, at});
      moved = true;
    }
  }

  // Runs the device's order as far as what is known allows.
  bool AdvanceDevice(Cursor& cursor) {
    bool moved = false;
    while (!Finished(cursor)) {
      const Step step = StepOf(plan_, (*cursor.order)[cursor.place], cursor.period);
      if (!Exists(plan_, step, samples())) {
        cursor.Next();
        continue;
      }
      const std::optional<double> met = MetAt(NeedsOf(plan_, step));
      if (!met) return moved;
      const double start = std::max(*met, cursor.free_at);
      cursor.free_at = start + CostOf(step);
      Finish(step, {start, cursor.free_at});
      cursor.Next();
      moved = true;
    }
    return moved;
  }

  void Finish(const Step& step, Span span) {
    progress_.Complete(step);
    for (std::int64_t s = step.first; s <= step.last; ++s) {
      timeline_.Append(step.kind, step.stage, span);
    }
  }

  // Whether no operation of the device can exist any more.
  [[nodiscard]] bool Finished(const Cursor& cursor) const {
    return std::all_of(cursor.order->begin(), cursor.order->end(), [&](const Operation& operation) {
      return StepOf(plan_, operation, cursor.period).first >= samples();
    });
  }

  [[nodiscard]] absl::Status CheckAllRan() const {
    if (progress_.done(kForward, 0) == samples() &&
        std::all_of(cursors_.begin(), cursors_.end(),
                    [this](const Cursor& cursor) { return Finished(cursor); })) {
      return absl::OkStatus();
    }
    std::string waiting;
    for (const Cursor& cursor : cursors_) {
      if (Finished(cursor)) continue;
      const Step step = StepOf(plan_, (*cursor.order)[cursor.place], cursor.period);
      absl::StrAppend(&waiting, waiting.empty() ? "" : ", ", ToString(step));
    }
    return absl::FailedPreconditionError(
        absl::StrCat("the plan comes to a standstill: these operations wait for each other: ",
                     waiting.empty() ? "admission" : waiting));
  }

  const Plan& plan_;
  const std::vector<StageCost>& costs_;
  const std::vector<double>& arrivals_;
  Progress progress_;
  Timeline timeline_;
  std::vector<Cursor> cursors_;
  double admitted_at_ = 0;
};

}  // namespace

Timeline::Timeline(int stages) {
  for (auto& by_stage : spans_) by_stage.resize(stages + 1);
}

absl::StatusOr<Timeline> Simulate(const Plan& plan, const std::vector<StageCost>& costs,
                                  const std::vector<double>& arrivals) {
  MILLRACE_CHECK(static_cast<int>(costs.size()) == plan.stage_count());
  return Simulation(plan, costs, arrivals).Run();
}

absl::StatusOr<double> SteadyPeriod(const Plan& plan, const std::vector<StageCost>& costs) {
  const int length = SteadyLength(plan);
  MILLRACE_ASSIGN_OR_RETURN(const Timeline timeline,
                            Simulate(plan, costs, std::vector<double>(length, 0.0)));
  const std::vector<Span>& spans = timeline.predictions();
  const int half = length / 2;
  // The end of the stream is left out: a pipeline that drains runs faster.
  const int last = length - length / 8;
  return (spans[last].end - spans[half].end) / (last - half);
}

absl::StatusOr<double> SteadyDelay(const Plan& plan, const std::vector<StageCost>& costs,
                                   double interval) {
  std::vector<double> arrivals(SteadyLength(plan));
  for (std::size_t i = 0; i < arrivals.size(); ++i) arrivals[i] = static_cast<double>(i) * interval;
  MILLRACE_ASSIGN_OR_RETURN(const Timeline timeline, Simulate(plan, costs, arrivals));
  const std::size_t late = arrivals.size() - arrivals.size() / 8;
  return timeline.predictions()[late].end - arrivals[late];
}

}  // namespace millrace::pipeline
