#include "pipeline/plan/simulator.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "pipeline/plan/copies.h"
#include "pipeline/plan/dependencies.h"
#include "pipeline/plan/plan_cursor.h"

namespace millrace::pipeline {
namespace {

using enum OperationKind;

class Simulation {
 public:
  Simulation(const Plan& plan, const SimulationOptions& options)
      : plan_(plan),
        options_(options),
        dependencies_(plan),
        copies_(plan, options.costs),
        copied_(copies_.all().size()),
        links_(copies_),
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
      moved |= AdvanceCamera();
      // Both ways: samples go forward through the stages, and gradients back.
      for (Cursor& cursor : cursors_) moved |= AdvanceDevice(cursor);
      for (auto cursor = cursors_.rbegin(); cursor != cursors_.rend(); ++cursor) {
        moved |= AdvanceDevice(*cursor);
      }
    }
    MILLRACE_RETURN_IF_ERROR(CheckAllRan());
    return std::move(timeline_);
  }

 private:
  struct Cursor {
    PlanCursor at;
    double free_at = 0;
    bool finished = false;
  };

  // The samples of the whole stream; a count beyond every stream until the end is known.
  [[nodiscard]] std::int64_t samples() const { return end_; }

  // The time at which the product that `dependency` waits for reaches the reader's device.
  [[nodiscard]] double ReachesAt(const Dependency& dependency, std::int64_t position,
                                 const Step& reader) const {
    const std::size_t* const copy = copies_.Find(dependency.kind, dependency.stage, reader);
    const std::vector<double>& ends =
        copy != nullptr ? copied_[*copy]
                        : ends_[static_cast<int>(dependency.kind)][dependency.stage];
    if (ends.empty()) return 0;
    return ends[std::min<std::int64_t>(position, std::ssize(ends)) - 1];
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
    const double ready = std::max(*met, admitted_at_);
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
    double cost = CostOf(plan_, cursor.at.operation(), options_.costs[step.stage - 1]);
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
    for (const std::size_t place : copies_.of(step.kind, step.stage)) {
      const double end = links_.Carry(copies_.all()[place], span.end, step.samples()).second;
      copied_[place].insert(copied_[place].end(), step.samples(), end);
    }
  }

  void Skip(const Step& step) {
    progress_.Skip(step);
    const auto repeat_last = [&](std::vector<double>& ends) {
      ends.insert(ends.end(), step.samples(), ends.empty() ? 0 : ends.back());
    };
    repeat_last(ends_[static_cast<int>(step.kind)][step.stage]);
    for (const std::size_t copy : copies_.of(step.kind, step.stage)) repeat_last(copied_[copy]);
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
  const DeviceCopies copies_;
  // By copy: when the product of each sample has arrived, in the stage's order.
  std::vector<std::vector<double>> copied_;
  LinkTimes links_;
  Progress progress_;
  Timeline timeline_;
  std::vector<Cursor> cursors_;
  // The end of each operation: by kind and stage, in the stage's order.
  std::array<std::vector<std::vector<double>>, kOperationKinds> ends_;
  double admitted_at_ = 0;
  std::int64_t end_ = Progress::kInfinity;
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

}  // namespace millrace::pipeline
