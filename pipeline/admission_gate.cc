#include "pipeline/admission_gate.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/check.h"

namespace millrace::pipeline {
namespace {

using enum OperationKind;

constexpr double kNewest = 0.1;   // Share of the newest time in a mean.
constexpr double kShrink = 0.99;  // Of the margin, with every sample that no stage waited for.
constexpr double kGrowth = 0.1;   // Of the mean forward, with every wait.

}  // namespace

// Goes on from what runs now, on paper, as far as that can go without the next sample.
class AdmissionGate::Pass {
 public:
  Pass(const AdmissionGate& gate, double now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(gate.mu_)
      : gate_(gate),
        next_sample_(gate.progress_.done(kForward, 0)),
        progress_(gate.progress_),
        devices_(gate.devices_),
        means_(gate.means_) {
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      free_at_.push_back(now);
      if (!devices_[d].running_since) continue;
      free_at_[d] = std::max(now, *devices_[d].running_since + means_[d][devices_[d].place]);
      Finish(d);
    }
  }

  /// The greatest of what the stages want; the past if none wants anything.
  double LatestStart() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::size_t d = 0; d < devices_.size(); ++d) {
        while (Advance(d)) moved = true;
      }
    }
    double latest = 0;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      const Step step = StepAt(d);
      if (step.kind != kForward || step.first > next_sample_) continue;
      double before = 0;
      for (int stage = 1; stage < step.stage; ++stage) {
        before += ForwardOf(stage) + gate_.costs_[stage - 1].copy;
      }
      latest = std::max(latest, free_at_[d] - before);
    }
    return latest;
  }

 private:
  [[nodiscard]] const Operation& OperationAt(std::size_t d) const {
    return gate_.plan_.devices[d][devices_[d].place];
  }
  [[nodiscard]] Step StepAt(std::size_t d) const {
    return StepOf(gate_.plan_, OperationAt(d), devices_[d].period);
  }

  [[nodiscard]] double ForwardOf(int stage) const {
    for (std::size_t d = 0; d < gate_.plan_.devices.size(); ++d) {
      for (std::size_t place = 0; place < gate_.plan_.devices[d].size(); ++place) {
        const Operation& operation = gate_.plan_.devices[d][place];
        if (operation.kind == kForward && operation.stage == stage) return means_[d][place];
      }
    }
    return 0;
  }

  // Runs the device's next operation, if what it needs has been or will be.
  bool Advance(std::size_t d) {
    const Step step = StepAt(d);
    if (step.first >= 0) {
      const std::int64_t pattern = devices_[d].period - OperationAt(d).shift;
      const auto needs = gate_.dependencies_.of(d, devices_[d].place);
      if (!progress_.Meets(needs, pattern)) return false;
      double start = free_at_[d];
      for (const Need& need : needs) {
        const std::int64_t position = need.samples + pattern * gate_.plan_.samples_per_pattern;
        const auto& ends = ends_[static_cast<int>(need.kind)];
        const auto end = ends.find({need.stage, position});
        if (end != ends.end()) start = std::max(start, end->second);
      }
      free_at_[d] = start + means_[d][devices_[d].place];
    }
    Finish(d);
    return true;
  }

  void Finish(std::size_t d) {
    const Step step = StepAt(d);
    if (step.first >= 0) {
      for (std::int64_t i = 1; i <= step.samples(); ++i) {
        ends_[static_cast<int>(step.kind)]
             [{step.stage, progress_.passed(step.kind, step.stage) + i}] = free_at_[d];
      }
      progress_.Complete(step);
    }
    if (++devices_[d].place == gate_.plan_.devices[d].size()) {
      devices_[d].place = 0;
      ++devices_[d].period;
    }
  }

  const AdmissionGate& gate_;
  const std::int64_t next_sample_;
  Progress progress_;
  std::vector<Device> devices_;
  const std::vector<std::vector<double>>& means_;
  std::vector<double> free_at_;
  // When what has not ended yet will: by kind, stage and position in the stage's order.
  std::array<std::map<std::pair<int, std::int64_t>, double>, kOperationKinds> ends_;
};

AdmissionGate::AdmissionGate(const Plan& plan, std::vector<StageCost> costs)
    : plan_(plan),
      dependencies_(plan_),
      costs_(std::move(costs)),
      progress_(plan_),
      devices_(plan_.devices.size()) {
  MILLRACE_CHECK(static_cast<int>(costs_.size()) == plan_.stage_count());
  for (const auto& order : plan_.devices) {
    std::vector<double>& means = means_.emplace_back();
    for (const Operation& operation : order) {
      means.push_back(CostOf(operation, costs_[operation.stage - 1]));
    }
  }
}

void AdmissionGate::Started(const Place& at, double now, bool waited) {
  MutexLock lock(mu_);
  devices_[at.device] = {.place = at.place, .period = at.period, .running_since = now};
  const Operation& operation = plan_.devices[at.device][at.place];
  if (waited && held_ && operation.kind == kForward && operation.stage > 1) {
    margin_ += kGrowth * means_[at.device][at.place];
  }
}

void AdmissionGate::Ended(std::size_t device, const Step& step, double now) {
  MutexLock lock(mu_);
  Device& at = devices_[device];
  MILLRACE_CHECK(at.running_since.has_value());
  double& mean = means_[device][at.place];
  mean += kNewest * (now - *at.running_since - mean);
  at.running_since.reset();
  progress_.Complete(step);
  if (++at.place == plan_.devices[device].size()) {
    at.place = 0;
    ++at.period;
  }
}

void AdmissionGate::Admitted(bool held) {
  MutexLock lock(mu_);
  held_ = held;
  margin_ *= kShrink;
  const std::int64_t sample = progress_.done(kForward, 0);
  progress_.Complete({kForward, 0, sample, sample});
}

double AdmissionGate::Opens(double now) const {
  MutexLock lock(mu_);
  return Pass(*this, now).LatestStart() - margin_;
}

double AdmissionGate::margin() const {
  MutexLock lock(mu_);
  return margin_;
}

}  // namespace millrace::pipeline
