// The transitive reduction of a plan's dependencies, by vector clocks.
//
// The plan is unrolled over its first periods. A vector clock gives each operation the operations
// that are certainly done once it is done. A dependency is redundant if the operation before it on
// its device and the other dependencies imply it in every period.
//
//   F2(t) needs F1(t), and B2(t - 2) for a slot: its device's order already implies B2(t - 2)
//   B1(t) needs B2(t), and F1(t): B2(t) already implies F1(t), through F2(t)
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"
#include "pipeline/plan/dependencies.h"
#include "pipeline/plan/plan_cursor.h"
#include "pipeline/plan/stage_walk.h"

namespace millrace::pipeline {
namespace {

// Counts for each stage and kind, like the counters of the dependencies.
using Clock = std::vector<std::int64_t>;

// Runs the operations in an order that their dependencies allow.
class Unrolled {
 public:
  // `plan` has the camera as its last device. `dependencies` are those of its devices.
  Unrolled(const Plan& plan, const OrderedDependencies& dependencies)
      : plan_(plan),
        dependencies_(dependencies),
        redundant_(dependencies),
        progress_(plan),
        periods_(2 * FirstSteadyPeriod()),
        clocks_(kOperationKinds * (plan.stages.size() + 1)) {
    for (const PlanCursor& at : CursorsOf(plan)) readers_.push_back({at, Clock(clocks_.size())});
  }

  OrderedDependencies FindRedundant() && {
    for (bool moved = true; moved;) {
      moved = false;
      for (Reader& reader : readers_) moved = GoOn(reader) || moved;
    }
    // An operation in the last periods may depend on other devices' later periods.
    const auto steady = [this](const Reader& reader) { return 2 * reader.at.period() > periods_; };
    MILLRACE_CHECK(std::all_of(readers_.begin(), readers_.end() - 1, steady));
    return std::move(redundant_);
  }

 private:
  // A device's position, and the operations that are certainly done when it is there.
  struct Reader {
    PlanCursor at;
    Clock clock;
  };

  [[nodiscard]] static std::size_t Component(OperationKind kind, int stage) {
    return static_cast<std::size_t>(stage) * kOperationKinds + static_cast<std::size_t>(kind);
  }

  // From this period on, every period is like the one before it.
  [[nodiscard]] std::int64_t FirstSteadyPeriod() const {
    std::int64_t furthest = 0;
    for (std::size_t device = 0; device + 1 < dependencies_.size(); ++device) {
      for (const auto& of_operation : dependencies_[device]) {
        for (const Dependency& one : of_operation) furthest = std::max(furthest, -one.samples);
      }
    }
    return std::int64_t{2} * MaxShift(plan_) + furthest / plan_.samples_per_pattern + 3;
  }

  bool GoOn(Reader& reader) {
    auto& [at, clock] = reader;
    bool moved = false;
    for (; at.period() <= periods_; at.Next()) {
      if (at.filling()) continue;
      const std::vector<Dependency>& all = dependencies_[at.device()][at.place()];
      if (!progress_.Meets(all, at.pattern())) break;
      std::erase_if(redundant_[at.device()][at.place()], [&](const Dependency& one) {
        return !IsImplied(one, all, at.pattern(), clock);
      });
      for (const Dependency& one : all) Meet(one, at.pattern(), clock);
      Complete(at.step(), clock);
      moved = true;
    }
    return moved;
  }

  // Whether `clock`, together with the other ones of `all`, implies `one`.
  [[nodiscard]] bool IsImplied(const Dependency& one, const std::vector<Dependency>& all,
                               std::int64_t pattern, Clock clock) const {
    for (const Dependency& other : all) {
      if (other != one) Meet(other, pattern, clock);
    }
    return clock[Component(one.kind, one.stage)] >= Count(one, pattern);
  }

  // Adds to `clock` the operations that are done once `dependency` is met.
  void Meet(const Dependency& dependency, std::int64_t pattern, Clock& clock) const {
    const std::int64_t count = Count(dependency, pattern);
    if (count <= 0) return;
    const Clock& other = clocks_[Component(dependency.kind, dependency.stage)][count - 1];
    for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
  }

  [[nodiscard]] std::int64_t Count(const Dependency& dependency, std::int64_t pattern) const {
    return dependency.samples + pattern * plan_.samples_per_pattern;
  }

  void Complete(const Step& step, Clock& clock) {
    progress_.Complete(step);
    const std::size_t component = Component(step.kind, step.stage);
    clock[component] = progress_.passed(step.kind, step.stage);
    clocks_[component].resize(static_cast<std::size_t>(clock[component]), clock);
  }

  const Plan& plan_;
  const OrderedDependencies& dependencies_;
  OrderedDependencies redundant_;  // As far as the unrolled periods show.
  Progress progress_;
  const std::int64_t periods_;
  std::vector<Reader> readers_;
  // By counter, then by its value: the operations that are done when it reaches that value.
  std::vector<std::vector<Clock>> clocks_;
};

}  // namespace

Dependencies Dependencies::Reduced(const Plan& plan) const {
  Plan with_camera = plan;
  std::vector<Operation>& camera = with_camera.devices.emplace_back();
  for (int sample = 0; sample < samples_per_pattern_; ++sample) {
    camera.push_back({.kind = OperationKind::kForward, .stage = 0, .first = sample});
  }
  const OrderedDependencies redundant = Unrolled(with_camera, dependencies_).FindRedundant();
  Dependencies reduced = *this;
  for (std::size_t device = 0; device < redundant.size(); ++device) {
    for (std::size_t place = 0; place < redundant[device].size(); ++place) {
      const std::vector<Dependency>& implied = redundant[device][place];
      std::erase_if(reduced.dependencies_[device][place], [&](const Dependency& one) {
        return std::ranges::find(implied, one) != implied.end();
      });
    }
  }
  return reduced;
}

}  // namespace millrace::pipeline
