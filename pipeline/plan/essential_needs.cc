#include "pipeline/plan/essential_needs.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/check.h"
#include "pipeline/plan/stage_walk.h"

namespace millrace::pipeline {
namespace {

// The operations that are certainly done once an operation is done: a count for each stage and
// kind. This is a vector clock, whose components are the counters of the dependencies.
using Clock = std::vector<std::int64_t>;

void Join(Clock& clock, const Clock& other) {
  for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

// Unrolls a plan over its first periods, in an order that its dependencies allow. Finds the
// dependencies of each operation that are implied in every period.
class Unrolled {
 public:
  Unrolled(const Plan& plan, const Dependencies& dependencies)
      : plan_(plan),
        dependencies_(dependencies),
        progress_(plan),
        periods_(2 * SteadyPeriod()),
        cursors_(plan.devices.size() + 1),
        clocks_(kOperationKinds * (plan.stages.size() + 1)) {
    for (Cursor& cursor : cursors_) cursor.clock.assign(clocks_.size(), 0);
    for (const auto& order : plan.devices) {
      auto& of_device = implied_.emplace_back();
      for (std::size_t place = 0; place < order.size(); ++place) {
        of_device.emplace_back(dependencies.of(implied_.size() - 1, place).size(), true);
      }
    }
    for (int sample = 0; sample < plan.samples_per_pattern; ++sample) {
      admission_.emplace_back(dependencies.of_admission(sample).size(), true);
    }
  }

  void Run() {
    for (bool moved = true; moved;) {
      moved = GoOnAdmitting();
      for (std::size_t device = 0; device < plan_.devices.size(); ++device) {
        moved = GoOn(device) || moved;
      }
    }
    // An operation in the last periods may depend on other devices' later periods.
    const auto steady = [this](const Cursor& cursor) { return 2 * cursor.period > periods_; };
    MILLRACE_CHECK(std::all_of(cursors_.begin(), cursors_.end() - 1, steady));
  }

  [[nodiscard]] const std::vector<bool>& implied(std::size_t device, std::size_t place) const {
    return implied_[device][place];
  }
  [[nodiscard]] const std::vector<bool>& implied_of_admission(int in_pattern) const {
    return admission_[static_cast<std::size_t>(in_pattern)];
  }

 private:
  // A device's position, and the operations that are certainly done when it is there.
  struct Cursor {
    std::int64_t period = 0;
    std::size_t place = 0;
    Clock clock;
  };

  [[nodiscard]] static std::size_t Component(OperationKind kind, int stage) {
    return static_cast<std::size_t>(stage) * kOperationKinds + static_cast<std::size_t>(kind);
  }
  [[nodiscard]] std::int64_t Count(const Need& need, std::int64_t pattern) const {
    return need.samples + pattern * plan_.samples_per_pattern;
  }

  // From this period on, every period is like the one before it.
  [[nodiscard]] std::int64_t SteadyPeriod() const {
    std::int64_t furthest = 0;
    for (std::size_t device = 0; device < plan_.devices.size(); ++device) {
      for (std::size_t place = 0; place < plan_.devices[device].size(); ++place) {
        for (const Need& need : dependencies_.of(device, place)) {
          furthest = std::max(furthest, -need.samples);
        }
      }
    }
    return 2 * MaxShift(plan_) + furthest / plan_.samples_per_pattern + 3;
  }

  bool GoOnAdmitting() {
    Cursor& camera = cursors_.back();
    bool moved = false;
    for (; camera.period < (periods_ + 1) * plan_.samples_per_pattern; ++camera.period) {
      const std::int64_t pattern = camera.period / plan_.samples_per_pattern;
      const std::span<const Need> needs =
          dependencies_.of_admission(static_cast<int>(camera.period % plan_.samples_per_pattern));
      if (!progress_.Meets(needs, pattern)) break;
      NoteImplied(needs, pattern, camera.clock,
                  admission_[static_cast<std::size_t>(camera.period % plan_.samples_per_pattern)]);
      Complete({OperationKind::kForward, 0, camera.period, camera.period}, camera.clock);
      moved = true;
    }
    return moved;
  }

  bool GoOn(std::size_t device) {
    Cursor& at = cursors_[device];
    const std::vector<Operation>& order = plan_.devices[device];
    bool moved = false;
    while (at.period <= periods_) {
      if (at.place == order.size()) {
        at.place = 0;
        ++at.period;
        continue;
      }
      const Operation& operation = order[at.place];
      const Step step = StepOf(plan_, operation, at.period);
      if (step.first >= 0) {
        const std::int64_t pattern = at.period - operation.shift;
        if (!progress_.Meets(dependencies_.of(device, at.place), pattern)) break;
        Do(device, step, pattern);
        moved = true;
      }
      ++at.place;
    }
    return moved;
  }

  void Do(std::size_t device, const Step& step, std::int64_t pattern) {
    Cursor& at = cursors_[device];
    NoteImplied(dependencies_.of(device, at.place), pattern, at.clock, implied_[device][at.place]);
    Complete(step, at.clock);
  }

  // Finds the dependencies in `needs` that neither `clock` nor the other ones imply. `clock` holds
  // the operations that are done without them. Then adds all of `needs` to `clock`.
  void NoteImplied(std::span<const Need> needs, std::int64_t pattern, Clock& clock,
                   std::vector<bool>& implied) const {
    for (std::size_t i = 0; i < needs.size(); ++i) {
      Clock others = clock;
      for (std::size_t j = 0; j < needs.size(); ++j) {
        if (j != i) Meet(needs[j], pattern, others);
      }
      const std::int64_t certain = others[Component(needs[i].kind, needs[i].stage)];
      if (certain < Count(needs[i], pattern)) implied[i] = false;
    }
    for (const Need& need : needs) Meet(need, pattern, clock);
  }

  // Adds to `clock` the operations that are done once `need` is met.
  void Meet(const Need& need, std::int64_t pattern, Clock& clock) const {
    const std::int64_t count = Count(need, pattern);
    if (count <= 0) return;
    const auto& of_counter = clocks_[Component(need.kind, need.stage)];
    Join(clock, of_counter[static_cast<std::size_t>(count - 1)]);
  }

  void Complete(const Step& step, Clock& clock) {
    progress_.Complete(step);
    const std::size_t component = Component(step.kind, step.stage);
    clock[component] = progress_.passed(step.kind, step.stage);
    auto& of_counter = clocks_[component];
    of_counter.resize(static_cast<std::size_t>(clock[component]), clock);
  }

  const Plan& plan_;
  const Dependencies& dependencies_;
  Progress progress_;
  const std::int64_t periods_;
  std::vector<Cursor> cursors_;  // By device; the last is the camera's, whose periods are samples.
  // By counter, then by its value: the operations that are done when it reaches that value.
  std::vector<std::vector<Clock>> clocks_;
  std::vector<std::vector<std::vector<bool>>> implied_;
  std::vector<std::vector<bool>> admission_;  // The same, for admissions.
};

std::vector<Need> WithoutThose(const std::vector<bool>& implied, std::span<const Need> needs) {
  std::vector<Need> left;
  for (std::size_t i = 0; i < needs.size(); ++i) {
    if (!implied[i]) left.push_back(needs[i]);
  }
  return left;
}

}  // namespace

EssentialNeeds::EssentialNeeds(const Plan& plan, const Dependencies& dependencies) {
  Unrolled unrolled(plan, dependencies);
  unrolled.Run();
  for (std::size_t device = 0; device < plan.devices.size(); ++device) {
    auto& of_device = needs_.emplace_back();
    for (std::size_t place = 0; place < plan.devices[device].size(); ++place) {
      of_device.push_back(
          WithoutThose(unrolled.implied(device, place), dependencies.of(device, place)));
    }
  }
  for (int sample = 0; sample < plan.samples_per_pattern; ++sample) {
    admission_.push_back(
        WithoutThose(unrolled.implied_of_admission(sample), dependencies.of_admission(sample)));
  }
}

}  // namespace millrace::pipeline
