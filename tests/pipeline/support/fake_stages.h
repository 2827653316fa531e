// Stages whose arithmetic is a few additions and multiplications: fast, exact to the bit, and
// sensitive to every mistake in order, pairing or weights.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "pipeline/engine/slot_ring.h"
#include "pipeline/plan/dependencies.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/versions_read.h"

namespace millrace::pipeline {

/// Runs the steps of a plan on numbers. Each stage has one weight; its forward is w * sum(inputs),
/// its backward the derivative of that, its update a gradient step. Safe in the engine because the
/// plan orders every access; not synchronized otherwise. `Ring`: SlotRing, or what stands in for
/// it.
template <template <typename> class Ring>
class FakeStagesIn {
 public:
  static constexpr int kMaxSamples = 256;

  FakeStagesIn(const Plan& plan, double learning_rate)
      : plan_(plan),
        reads_(plan),
        dependencies_(plan),
        learning_rate_(learning_rate),
        outputs_(kMaxSamples) {
    for (int stage = 1; stage <= plan.stage_count(); ++stage) {
      stages_.push_back(std::make_unique<Stage>(0.5 + 0.1 * stage, plan.rules(stage)));
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
    if (step.kind == OperationKind::kUpdate) return Update(step.stage);
    for (std::int64_t i = 0; i < step.samples(); ++i) {
      if (step.kind == OperationKind::kForward) Forward(step.stage, step.first + i);
      if (step.kind == OperationKind::kBackward) Backward(step.stage, step.last - i);
      if (step.kind == OperationKind::kWeightGradient) WeightGradient(step.stage, step.last - i);
    }
  }

  /// A step of a stage on another rank (plan_part.h). Calls `carry` with each channel to or from a
  /// stage of this rank, the sample, whether to send the value, and the value. The stream has
  /// `samples` samples.
  template <typename CarryValue>
  void Carry(const Step& step, std::int64_t samples, const CarryValue& carry) {
    for (std::int64_t sample = step.first; sample <= step.last; ++sample) {
      ForChannels([&](const Channel& c, Rings& r) {
        const bool touches = c.from == step.stage || c.to == step.stage;
        if (c.from == 0 || !touches || !plan_.IsOwn(c)) return;
        double value = 0;
        if (step.kind == OperationKind::kForward) {
          const bool sends = c.to == step.stage;
          if (sends) value = r.forward.Read(sample);
          carry(c, sample, sends, value);
          if (!sends) r.forward.Write(sample, value);
        } else if (step.kind == OperationKind::kBackward && plan_.CarriesGradients(c)) {
          const bool sends = c.from == step.stage;
          if (!Exists(plan_, {OperationKind::kBackward, c.to, sample, sample}, samples)) return;
          if (sends) value = r.backward.Read(PlaceOf(c, sample));
          carry(c, sample, sends, value);
          if (!sends) r.backward.Write(PlaceOf(c, sample), value);
        }
      });
    }
  }

  [[nodiscard]] std::vector<double> weights() const {
    std::vector<double> weights;
    for (const auto& stage : stages_) weights.push_back(stage->weight(stage->version));
    return weights;
  }
  /// REQUIRES: nothing has run.
  void set_weights(const std::vector<double>& weights) {
    for (std::size_t i = 0; i < stages_.size(); ++i) stages_[i]->weight(0) = weights[i];
  }
  /// What the last stage made of each sample, 0 where it made nothing.
  [[nodiscard]] const std::vector<double>& outputs() const { return outputs_; }

 private:
  struct Kept {
    double sum = 0;
    double output = 0;
    std::int64_t version = 0;  // Of the weights that the forward read.
  };
  struct Stage {
    Stage(double w, const StageRules& rules)
        : weights(rules.versions), activations(rules.slots), left(rules.slots) {
      weight(0) = w;
    }
    double& weight(std::int64_t v) {
      return weights[v % static_cast<std::int64_t>(weights.size())];
    }
    std::vector<double> weights;  // A ring of versions.
    std::int64_t version = 0;
    double gradient = 0;
    Ring<Kept> activations;
    Ring<double> left;  // The gradients of the outputs, of split backwards.
  };
  struct Rings {
    explicit Rings(const Channel& c) : forward(c.slots), backward(c.gradient_slots) {}
    Ring<double> forward;
    Ring<double> backward;
  };

  template <typename Visit>
  void ForChannels(const Visit& visit) {
    for (std::size_t i = 0; i < rings_.size(); ++i) visit(plan_.channels[i], *rings_[i]);
  }

  // Gradients lie in the order in which the stage behind makes them.
  [[nodiscard]] std::int64_t PlaceOf(const Channel& channel, std::int64_t sample) const {
    return dependencies_.Position(OperationKind::kBackward, channel.to, sample);
  }

  void Forward(int number, std::int64_t sample) {
    Stage& stage = *stages_[number - 1];
    double sum = 0;
    ForChannels([&](const Channel& c, Rings& r) {
      if (c.to == number && (c.from > 0 || number == 1)) sum += r.forward.Read(sample);
    });
    const std::int64_t version =
        reads_.Version(OperationKind::kForward, number, sample, stage.version, 0);
    const double output = stage.weight(version) * sum;
    stage.activations.Write(sample, {sum, output, version});
    ForChannels([&](const Channel& c, Rings& r) {
      if (c.from == number) r.forward.Write(sample, output);
    });
    if (number == plan_.stage_count()) outputs_[sample] = output;
  }

  void Backward(int number, std::int64_t sample) {
    Stage& stage = *stages_[number - 1];
    Kept kept = stage.activations.Read(sample + plan_.rules(number).lead);
    const double weight = stage.weight(
        reads_.Version(OperationKind::kBackward, number, sample, stage.version, kept.version));
    if (reads_.keeps(number, sample) == Keeps::kInputs) kept.output = weight * kept.sum;
    const bool own =
        number == plan_.stage_count() || plan_.rules(number).gradient == GradientFrom::kOwnLoss;
    double gradient = own ? kept.output - Target(sample) : 0;
    ForChannels([&](const Channel& c, Rings& r) {
      if (c.from != number || !plan_.CarriesGradients(c)) return;
      gradient += r.backward.Read(PlaceOf(c, sample));
    });
    if (plan_.rules(number).splits_backward) {
      stage.left.Write(sample + plan_.rules(number).lead, gradient);
    } else {
      stage.gradient += gradient * kept.sum;
    }
    ForChannels([&](const Channel& c, Rings& r) {
      if (c.to != number || !plan_.CarriesGradients(c)) return;
      r.backward.Write(PlaceOf(c, sample), gradient * weight);
    });
  }

  void WeightGradient(int number, std::int64_t sample) {
    Stage& stage = *stages_[number - 1];
    const std::int64_t used = sample + plan_.rules(number).lead;
    stage.gradient += stage.left.Read(used) * stage.activations.Read(used).sum;
  }

  void Update(int number) {
    Stage& stage = *stages_[number - 1];
    const double updated = stage.weight(stage.version) - learning_rate_ * stage.gradient;
    stage.weight(++stage.version) = updated;
    stage.gradient = 0;
  }

  const Plan plan_;
  const VersionsRead reads_;
  const Dependencies dependencies_;
  const double learning_rate_;
  std::vector<std::unique_ptr<Stage>> stages_;
  std::vector<std::unique_ptr<Rings>> rings_;
  std::vector<double> outputs_;
};

using FakeStages = FakeStagesIn<SlotRing>;

}  // namespace millrace::pipeline
