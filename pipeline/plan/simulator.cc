#include "pipeline/plan/simulator.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "pipeline/plan/dependencies.h"
#include "pipeline/plan/plan_cursor.h"
#include "pipeline/plan/stage_walk.h"

namespace millrace::pipeline {
namespace {

using enum OperationKind;

class Simulation {
 public:
  Simulation(const Plan& plan, const SimulationOptions& options)
      : plan_(plan),
        options_(options),
        dependencies_(plan),
        progress_(plan),
        timeline_(plan.stage_count()) {
    for (const PlanCursor& at : CursorsOf(plan)) cursors_.push_back({.at = at});
    for (auto& by_stage : ends_) by_stage.resize(plan.stage_count() + 1);
  }

  absl::StatusOr<Timeline> Run() && {
    if (!options_.admit) end_ = std::ssize(options_.arrivals);
    bool moved = true;
    while (moved) {
      moved = false;
      for (Cursor& cursor : cursors_) moved |= AdvanceDevice(cursor);
      moved |= AdvanceCamera();
    }
    MILLRACE_RETURN_IF_ERROR(CheckAllRan());
    return std::move(timeline_);
  }

 private:
  struct Cursor {
    PlanCursor at;
    double free_at = 0;
    // `free_at`, if the last operation takes its mean time.
    double expected_free_at = 0;
    bool finished = false;
  };

  // The samples of the whole stream; a count beyond every stream until the end is known.
  [[nodiscard]] std::int64_t samples() const { return end_; }

  // The time at which the product that `dependency` waits for reaches the reader. Products of
  // neighbours are copied first.
  [[nodiscard]] double ReachesAt(const Dependency& dependency, std::int64_t position,
                                 const Step& reader) const {
    const std::vector<double>& ends = ends_[static_cast<int>(dependency.kind)][dependency.stage];
    if (ends.empty()) return 0;
    const double end = ends[std::min<std::int64_t>(position, std::ssize(ends)) - 1];
    const bool carried = dependency.kind == reader.kind && dependency.stage > 0 &&
                         reader.stage > 0 && dependency.stage != reader.stage;
    const bool forward = reader.kind == kForward && dependency.stage < reader.stage;
    const bool backward = reader.kind == kBackward && dependency.stage > reader.stage;
    if (!carried || !(forward || backward)) return end;
    return end + options_.costs[std::min(dependency.stage, reader.stage) - 1].copy;
  }

  // The time at which the last of `dependencies` is met; nullopt while that is unknown.
  [[nodiscard]] std::optional<double> MetAt(std::span<const Dependency> dependencies,
                                            std::int64_t pattern, const Step& reader) const {
    if (!progress_.Meets(dependencies, pattern)) return std::nullopt;
    double at = 0;
    for (const Dependency& dependency : dependencies) {
      const std::int64_t position = dependency.samples + pattern * plan_.samples_per_pattern;
      if (position > 0) at = std::max(at, ReachesAt(dependency, position, reader));
    }
    return at;
  }

  // Admits one sample, if there is room.
  bool AdvanceCamera() {
    const std::int64_t sample = progress_.done(kForward, 0);
    if (sample == samples()) return false;
    const Step step{kForward, 0, sample, sample};
    const std::int64_t k = plan_.samples_per_pattern;
    const std::optional<double> met =
        MetAt(dependencies_.of_admission(static_cast<int>(sample % k)), sample / k, step);
    if (!met) return false;
    double ready = std::max(*met, admitted_at_);
    if (options_.gate_margin) ready = std::max(ready, LatestStart() - *options_.gate_margin);
    const std::optional<double> at =
        options_.admit ? options_.admit(ready) : std::max(ready, options_.arrivals[sample]);
    if (!at) {
      end_ = sample;
      return true;
    }
    admitted_at_ = *at;
    Finish(step, {*at, *at});
    return true;
  }

  // The latest start of the next sample at which no later stage would wait for it. Called when
  // nothing more can run without that sample.
  [[nodiscard]] double LatestStart() const {
    double latest = 0;
    for (const Cursor& cursor : cursors_) {
      if (cursor.finished) continue;
      const Step next = cursor.at.step();
      if (next.kind != kForward) continue;
      const double before = ForwardsBefore(options_.costs, next.stage);
      latest = std::max(latest, cursor.expected_free_at - before);
    }
    return latest;
  }

  // Runs the device's order as far as its dependencies are known to be met.
  bool AdvanceDevice(Cursor& cursor) {
    PlanCursor& at = cursor.at;
    bool moved = false;
    for (; !cursor.finished; at.Next()) {
      if (Finished(at)) {
        for (const Operation& operation : at.order()) progress_.SkipRest(operation);
        cursor.finished = true;
        return true;
      }
      if (at.filling()) continue;
      const Step step = at.step();
      if (!Exists(plan_, step, samples())) {
        Skip(step);
        continue;
      }
      const std::optional<double> met =
          MetAt(dependencies_.of(at.device(), at.place()), at.pattern(), step);
      if (!met) return moved;
      Start(cursor, step, std::max(*met, cursor.free_at));
      moved = true;
    }
    return moved;
  }

  void Start(Cursor& cursor, const Step& step, double start) {
    double cost = CostOf(cursor.at.operation(), options_.costs[step.stage - 1]);
    cursor.expected_free_at = start + cost;
    if (options_.vary) cost = options_.vary(step, cost);
    cursor.free_at = start + cost;
    Finish(step, {start, cursor.free_at});
    if (options_.observe) options_.observe(cursor.at.device(), step, {start, cursor.free_at});
  }

  void Finish(const Step& step, Span span) {
    progress_.Complete(step);
    timeline_.Set(step, span);
    auto& ends = ends_[static_cast<int>(step.kind)][step.stage];
    ends.insert(ends.end(), step.samples(), span.end);
  }

  void Skip(const Step& step) {
    progress_.Skip(step);
    auto& ends = ends_[static_cast<int>(step.kind)][step.stage];
    ends.insert(ends.end(), step.samples(), ends.empty() ? 0 : ends.back());
  }

  // Whether no operation of the device can run any more.
  [[nodiscard]] bool Finished(const PlanCursor& at) const {
    return at.place() == 0 && std::ranges::all_of(at.order(), [&](const Operation& operation) {
             return StepOf(plan_, operation, at.period()).first >= samples();
           });
  }

  [[nodiscard]] absl::Status CheckAllRan() const {
    if (progress_.done(kForward, 0) == samples() &&
        std::all_of(cursors_.begin(), cursors_.end(),
                    [](const Cursor& cursor) { return cursor.finished; })) {
      return absl::OkStatus();
    }
    std::string waiting;
    const Operation* first = nullptr;
    for (const Cursor& cursor : cursors_) {
      if (cursor.finished) continue;
      if (first == nullptr) first = &cursor.at.operation();
      absl::StrAppend(&waiting, waiting.empty() ? "" : ", ", ToString(cursor.at.step()));
    }
    return absl::FailedPreconditionError(
        absl::StrCat("the plan comes to a standstill: these operations wait for each other: ",
                     waiting.empty() ? "admission" : waiting, "\n", PatternText(plan_, first)));
  }

  const Plan& plan_;
  const SimulationOptions& options_;
  const Dependencies dependencies_;
  Progress progress_;
  Timeline timeline_;
  std::vector<Cursor> cursors_;
  // The end of each operation: by kind and stage, in the stage's order.
  std::array<std::vector<std::vector<double>>, kOperationKinds> ends_;
  double admitted_at_ = 0;
  std::int64_t end_ = Progress::kInfinity;
};

// Long enough to fill any pipeline of that depth and then run in steady state. Whole patterns.
int SteadyLength(const Plan& plan) {
  const int patterns = 8 * (MaxShift(plan) + plan.stage_count() / plan.samples_per_pattern + 4);
  return patterns * plan.samples_per_pattern;
}

// From the middle of the stream to the sample where the pipeline begins to drain. Whole patterns.
std::pair<int, int> SteadyPart(const Plan& plan, int length) {
  const int k = plan.samples_per_pattern;
  return {length / 2 / k * k, (length - length / 8) / k * k};
}

// The share of the time from `begin` to `end` in which a device works.
class BusyTimes {
 public:
  explicit BusyTimes(std::size_t devices) : spans_(devices) {}
  void Add(std::size_t device, Span span) { spans_[device].push_back(span); }
  [[nodiscard]] std::vector<double> Idle(double begin, double end) const {
    std::vector<double> idle;
    for (const auto& spans : spans_) {
      double busy = 0;
      for (const Span& span : spans) {
        busy += std::max(0.0, std::min(span.end, end) - std::max(span.start, begin));
      }
      idle.push_back(end > begin ? 1 - busy / (end - begin) : 0);
    }
    return idle;
  }

 private:
  std::vector<std::vector<Span>> spans_;
};

}  // namespace

Timeline::Timeline(int stages) {
  for (auto& by_stage : spans_) by_stage.resize(stages + 1);
}

void Timeline::Set(const Step& step, Span span) {
  auto& spans = spans_[static_cast<int>(step.kind)][step.stage];
  if (static_cast<std::int64_t>(spans.size()) <= step.last) spans.resize(step.last + 1);
  for (std::int64_t sample = step.first; sample <= step.last; ++sample) spans[sample] = span;
}

absl::StatusOr<Timeline> Simulate(const Plan& plan, const SimulationOptions& options) {
  MILLRACE_CHECK(static_cast<int>(options.costs.size()) == plan.stage_count());
  return Simulation(plan, options).Run();
}

absl::StatusOr<double> SteadyPeriod(const Plan& plan, const std::vector<StageCost>& costs) {
  const int length = SteadyLength(plan);
  MILLRACE_ASSIGN_OR_RETURN(
      const Timeline timeline,
      Simulate(plan, {.costs = costs, .arrivals = std::vector<double>(length, 0.0)}));
  const auto [begin, end] = SteadyPart(plan, length);
  const std::vector<Span>& spans = timeline.predictions();
  return (spans[end].end - spans[begin].end) / (end - begin);
}

absl::StatusOr<SteadyFigures> Steady(const Plan& plan, const std::vector<StageCost>& costs,
                                     double interval) {
  std::vector<double> arrivals(SteadyLength(plan));
  for (std::size_t i = 0; i < arrivals.size(); ++i) arrivals[i] = static_cast<double>(i) * interval;
  BusyTimes busy(plan.devices.size());
  MILLRACE_ASSIGN_OR_RETURN(
      const Timeline timeline,
      Simulate(plan, {.costs = costs,
                      .arrivals = arrivals,
                      .observe = [&](std::size_t device, const Step& /*step*/, Span span) {
                        busy.Add(device, span);
                      }}));
  const auto [begin, end] = SteadyPart(plan, static_cast<int>(arrivals.size()));
  const std::vector<Span>& spans = timeline.predictions();
  SteadyFigures figures;
  figures.period = (spans[end].end - spans[begin].end) / (end - begin);
  for (int sample = begin; sample < end; ++sample) {
    figures.delay += spans[sample].end - arrivals[sample];
  }
  figures.delay /= end - begin;
  figures.idle = busy.Idle(spans[begin].end, spans[end].end);
  return figures;
}

}  // namespace millrace::pipeline
