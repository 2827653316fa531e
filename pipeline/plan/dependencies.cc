#include "pipeline/plan/dependencies.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace millrace::pipeline {
namespace {

using enum OperationKind;

// Rounds down, also for negative samples.
std::int64_t PatternOf(std::int64_t sample, std::int64_t samples_per_pattern) {
  const std::int64_t shifted = sample >= 0 ? sample : sample - samples_per_pattern + 1;
  return shifted / samples_per_pattern;
}

// A stage's operations of one kind in the order of execution: by shift, then by place.
std::vector<const Operation*> InOrder(const Plan& plan, OperationKind kind, int stage) {
  std::vector<std::tuple<int, std::size_t, const Operation*>> order;
  for (const auto& of_device : plan.devices) {
    for (std::size_t place = 0; place < of_device.size(); ++place) {
      const Operation& operation = of_device[place];
      if (operation.kind != kind || operation.stage != stage) continue;
      order.emplace_back(operation.shift, place, &operation);
    }
  }
  std::sort(order.begin(), order.end());
  std::vector<const Operation*> operations;
  operations.reserve(order.size());
  for (const auto& [shift, place, operation] : order) operations.push_back(operation);
  return operations;
}

// Numbers the samples of a pattern in the order in which `operations` process them. A backward and
// a weight gradient start with their last sample.
void PlaceSamples(const std::vector<const Operation*>& operations, std::vector<int>& places) {
  int next = 0;
  for (const Operation* operation : operations) {
    for (int i = 0; i < operation->count; ++i) {
      const bool last_first = operation->kind == kBackward || operation->kind == kWeightGradient;
      const int in_order = last_first ? operation->count - 1 - i : i;
      places.at(operation->first + in_order) = next++;
    }
  }
  MILLRACE_CHECK(next == 0 || next == static_cast<int>(places.size()));
}

}  // namespace

// Computes the dependencies of pattern 0.
class Dependencies::Builder {
 public:
  Builder(const Plan& plan, const Dependencies& positions) : plan_(plan), positions_(positions) {}

  [[nodiscard]] std::vector<Dependency> Of(const Operation& operation) && {
    const std::int64_t first = operation.first;
    for (std::int64_t sample = first; sample < first + operation.count; ++sample) {
      switch (operation.kind) {
        case kForward:
          AddForward(operation.stage, sample);
          break;
        case kBackward:
          AddBackward(operation.stage, sample);
          break;
        case kWeightGradient:
          Add(kBackward, operation.stage, sample);
          break;
        case kUpdate:
          Add(plan_.LastOfBackward(operation.stage), operation.stage, sample);
          break;
      }
    }
    if (operation.kind == kUpdate) AddReadersOfReplaced(operation.stage);
    if (operation.weights.which == WeightsRead::Which::kLag) {
      // The version after the updates of the patterns before -lag, which cover all their samples.
      AddPatterns(kUpdate, operation.stage, -operation.weights.lag);
    }
    return std::move(dependencies_);
  }

  [[nodiscard]] std::vector<Dependency> OfAdmission(int in_pattern) && {
    AddRoom(0, in_pattern);
    return std::move(dependencies_);
  }

 private:
  void Add(OperationKind kind, int stage, std::int64_t sample) {
    Raise(kind, stage, positions_.Position(kind, stage, sample));
  }

  // All operations of that kind in the first `patterns` patterns.
  void AddPatterns(OperationKind kind, int stage, std::int64_t patterns) {
    Raise(kind, stage, patterns * plan_.samples_per_pattern);
  }

  void Raise(OperationKind kind, int stage, std::int64_t samples) {
    const auto same =
        std::find_if(dependencies_.begin(), dependencies_.end(), [&](const Dependency& dependency) {
          return dependency.kind == kind && dependency.stage == stage;
        });
    if (same == dependencies_.end()) {
      dependencies_.push_back({kind, stage, samples});
    } else {
      same->samples = std::max(same->samples, samples);
    }
  }

  // Free slots in the channels that `stage` writes activations to.
  void AddRoom(int stage, std::int64_t sample) {
    for (const Channel& channel : plan_.channels) {
      if (channel.from != stage || !plan_.IsOwn(channel)) continue;
      Raise(kForward, channel.to, positions_.Position(kForward, stage, sample) - channel.slots);
    }
  }

  void AddForward(int stage, std::int64_t sample) {
    for (const Channel& channel : plan_.channels) {
      if (channel.to == stage && plan_.IsOwn(channel)) Add(kForward, channel.from, sample);
    }
    AddRoom(stage, sample);
    if (!plan_.IsOwn(stage)) return Add(kForward, 0, sample);
    const StageRules& rules = plan_.rules(stage);
    Add(plan_.LastOfBackward(stage), stage, sample - rules.slots - rules.lead);
  }

  void AddBackward(int stage, std::int64_t sample) {
    bool sends = false;
    for (const Channel& channel : plan_.channels) {
      if (!plan_.CarriesGradients(channel) || !plan_.IsOwn(channel)) continue;
      if (channel.from == stage) {
        Add(kBackward, channel.to, sample);
        sends = true;
      }
      if (channel.to != stage) continue;
      Raise(plan_.LastOfBackward(channel.from), channel.from,
            positions_.Position(kBackward, stage, sample) - channel.gradient_slots);
    }
    if (plan_.IsOwn(stage)) {
      Add(kForward, stage, sample + plan_.rules(stage).lead);
    } else if (!sends) {
      Add(kForward, stage, sample + LeadBehind(plan_, stage));
    }
  }

  // Update q writes version q + 1 over version q + 1 - versions. Operations with lag r read the old
  // version for the last time in pattern q + 1 - versions + r.
  void AddReadersOfReplaced(int stage) {
    const int replaced = 1 - plan_.rules(stage).versions;
    for (const auto& order : plan_.devices) {
      for (const Operation& reader : order) {
        if (reader.stage != stage || reader.weights.which != WeightsRead::Which::kLag) continue;
        AddPatterns(reader.kind, stage, replaced + reader.weights.lag + 1);
      }
    }
  }

  const Plan& plan_;
  const Dependencies& positions_;
  std::vector<Dependency> dependencies_;
};

Dependencies::Dependencies(const Plan& plan) : samples_per_pattern_(plan.samples_per_pattern) {
  for (auto& by_stage : places_) {
    by_stage.assign(plan.stage_count() + 1, std::vector<int>(samples_per_pattern_, 0));
  }
  for (int sample = 0; sample < samples_per_pattern_; ++sample) places_[0][0][sample] = sample;
  for (const OperationKind kind : {kForward, kBackward, kWeightGradient, kUpdate}) {
    for (int stage = 1; stage <= plan.stage_count(); ++stage) {
      PlaceSamples(InOrder(plan, kind, stage), places_[static_cast<int>(kind)][stage]);
    }
  }
  for (const auto& order : plan.devices) {
    auto& of_device = dependencies_.emplace_back();
    of_device.reserve(order.size());
    for (const Operation& operation : order) {
      of_device.push_back(Builder(plan, *this).Of(operation));
    }
  }
  auto& of_camera = dependencies_.emplace_back();
  for (int sample = 0; sample < samples_per_pattern_; ++sample) {
    of_camera.push_back(Builder(plan, *this).OfAdmission(sample));
  }
}

std::int64_t Dependencies::Position(OperationKind kind, int stage, std::int64_t sample) const {
  const std::int64_t pattern = PatternOf(sample, samples_per_pattern_);
  const auto in_pattern = static_cast<std::size_t>(sample - pattern * samples_per_pattern_);
  return pattern * samples_per_pattern_ + places_[static_cast<int>(kind)][stage][in_pattern] + 1;
}

Progress::Progress(const Plan& plan) : samples_per_pattern_(plan.samples_per_pattern) {
  for (auto* counts : {&done_, &passed_}) {
    for (auto& by_stage : *counts) by_stage.assign(plan.stage_count() + 1, 0);
  }
}

bool Progress::Meets(std::span<const Dependency> dependencies, std::int64_t pattern) const {
  return std::all_of(dependencies.begin(), dependencies.end(), [&](const Dependency& dependency) {
    return passed(dependency.kind, dependency.stage) >=
           dependency.samples + pattern * samples_per_pattern_;
  });
}

}  // namespace millrace::pipeline
