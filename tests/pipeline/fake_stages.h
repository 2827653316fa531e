// Stages whose arithmetic is a few additions and multiplications: fast, exact to the bit, and
// sensitive to every mistake in order, pairing or weights.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "pipeline/plan.h"
#include "pipeline/slot_ring.h"

namespace millrace::pipeline {

/// Runs the steps of a plan on numbers. Each stage has one weight; its forward is w * sum(inputs),
/// its backward the derivative of that, its update a gradient step. Safe in the engine because the
/// plan orders every access; not synchronized otherwise.
class FakeStages {
 public:
  static constexpr int kMostSamples = 256;

  FakeStages(const Plan& plan, double learning_rate)
      : plan_(plan), learning_rate_(learning_rate), outputs_(kMostSamples) {
    for (int stage = 1; stage <= plan.stage_count(); ++stage) {
      stages_.push_back(std::make_unique<Stage>(0.5 + 0.1 * stage, plan.rules(stage).slots));
    }
    for (const Channel& channel : plan.channels) {
      rings_.push_back(std::make_unique<Rings>(channel));
    }
  }

  static double Sample(std::int64_t number) {
    return 0.25 + 0.03 * static_cast<double>(number % 17);
  }
  static double Target(std::int64_t number) {
    return 0.5 - 0.02 * static_cast<double>(number % 11);
  }

  /// Fills the camera's channels: what Engine::Admit() calls.
  void Admit(std::int64_t sample) {
    ForChannels([&](const Channel& c, Rings& r) {
      if (c.from == 0) r.forward.Write(sample, Sample(sample));
    });
  }

  void Run(const Step& step) {
    for (std::int64_t sample = step.first; sample <= step.last; ++sample) {
      if (step.kind == OperationKind::kForward) Forward(step.stage, sample);
      if (step.kind == OperationKind::kBackward) Backward(step.stage, sample);
    }
    if (step.kind == OperationKind::kUpdate) Update(step.stage);
  }

  [[nodiscard]] std::vector<double> weights() const {
    std::vector<double> weights;
    for (const auto& stage : stages_) weights.push_back(stage->weight);
    return weights;
  }
  /// What the last stage made of each sample, 0 where it made nothing.
  [[nodiscard]] const std::vector<double>& outputs() const { return outputs_; }

 private:
  struct Stage {
    Stage(double w, int slots) : weight(w), activations(slots) {}
    double weight;
    double gradient = 0;
    SlotRing<std::pair<double, double>> activations;  // Sum of the inputs, output.
  };
  struct Rings {
    explicit Rings(const Channel& c) : forward(c.slots), backward(c.gradient_slots) {}
    SlotRing<double> forward;
    SlotRing<double> backward;
  };

  template <typename Visit>
  void ForChannels(const Visit& visit) {
    for (std::size_t i = 0; i < rings_.size(); ++i) visit(plan_.channels[i], *rings_[i]);
  }

  void Forward(int number, std::int64_t sample) {
    Stage& stage = *stages_[number - 1];
    double sum = 0;
    ForChannels([&](const Channel& c, Rings& r) {
      if (c.to == number && (c.from > 0 || number == 1)) sum += r.forward.Read(sample);
    });
    const double output = stage.weight * sum;
    stage.activations.Write(sample, {sum, output});
    ForChannels([&](const Channel& c, Rings& r) {
      if (c.from == number) r.forward.Write(sample, output);
    });
    if (number == plan_.stage_count()) outputs_[sample] = output;
  }

  void Backward(int number, std::int64_t sample) {
    Stage& stage = *stages_[number - 1];
    const auto [sum, output] = stage.activations.Read(sample + plan_.rules(number).lead);
    double gradient = number == plan_.stage_count() ? output - Target(sample) : 0;
    ForChannels([&](const Channel& c, Rings& r) {
      if (c.from == number) gradient += r.backward.Read(sample);
    });
    stage.gradient += gradient * sum;
    ForChannels([&](const Channel& c, Rings& r) {
      if (c.to == number && c.from > 0) r.backward.Write(sample, gradient * stage.weight);
    });
  }

  void Update(int number) {
    Stage& stage = *stages_[number - 1];
    stage.weight -= learning_rate_ * stage.gradient;
    stage.gradient = 0;
  }

  const Plan plan_;
  const double learning_rate_;
  std::vector<std::unique_ptr<Stage>> stages_;
  std::vector<std::unique_ptr<Rings>> rings_;
  std::vector<double> outputs_;
};

}  // namespace millrace::pipeline
