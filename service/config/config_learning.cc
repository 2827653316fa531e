// The sections `optimizer`, `learning`, `scores` and `checkpoints`.
#include <algorithm>
#include <optional>
#include <string_view>

#include "pipeline/decisions/update_policy.h"
#include "pipeline/learner/reference_flow_names.h"
#include "service/config/config_keys.h"

namespace millrace::service {
namespace {

pipeline::UpdatePolicyOptions& Policy(const ConfigTarget& target) {
  return target.stream->flow.learning.policy;
}

constexpr double kBelowOne = 0.999999;

pipeline::OptimizerOptions& Optimizer(const ConfigTarget& target) {
  return target.stream->learner.optimizer;
}

// The smallest eps keeps every update finite (pipeline/optim/optimizer.h).
constexpr ConfigKey kOptimizerKeys[] = {
    {"kind", ChoiceType{pipeline::OptimizerNames},
     Enumeration<pipeline::OptimizerNames>([](auto& t) -> auto& { return Optimizer(t).kind; }),
     "rmsprop: without momentum, for frames that resemble each other. adam, adamw, nadamw: at "
     "about the same learning rate. sgd: at a rate of 0.001 or more. A stream with checkpoints "
     "keeps its "
     "weights when this changes."},
    {"momentum", RealType{0, kBelowOne},
     Member([](auto& t) -> auto& { return Optimizer(t).momentum; }),
     "sgd: the share of the previous step that is added to the next, less than 1."},
    {"nesterov", FlagType{}, Member([](auto& t) -> auto& { return Optimizer(t).nesterov; }),
     "sgd with momentum: Nesterov's kind of it."},
    {"weight_decay", RealType{0, 1},
     Member([](auto& t) -> auto& { return Optimizer(t).weight_decay; }),
     "The weights, times this, are added to the gradient. adamw, nadamw: they are subtracted "
     "from the weights instead, times the learning rate."},
    {"beta1", RealType{0, kBelowOne}, Member([](auto& t) -> auto& { return Optimizer(t).beta1; }),
     "adam, adamw, nadamw: how long gradients and their squares are remembered, each less than 1."},
    {"beta2", RealType{0, kBelowOne}, Member([](auto& t) -> auto& { return Optimizer(t).beta2; })},
    {"eps", RealType{1e-12, 1}, Member([](auto& t) -> auto& { return Optimizer(t).eps; }),
     "All but sgd: added to the divisor of a step, so that small gradients cause no large steps."},
    {"clip_norm", RealType{0, 1e9}, Member([](auto& t) -> auto& { return Optimizer(t).clip_norm; }),
     "Scale a stage's gradients down to this norm. 0: never."},
    {"clip_update", RealType{0, 1e9},
     Member([](auto& t) -> auto& { return Optimizer(t).clip_update; }),
     "rmsprop: scale an update of a tensor down to this many learning rates (root mean square). "
     "Late gradients do less harm then. 0: never."},
    {"pipemare_steps", WholeType{0, 1'000'000'000},
     Member([](auto& t) -> auto& { return Optimizer(t).pipemare_steps; }),
     "A stage whose gradients come late begins with a smaller rate. It has the whole rate after "
     "this number of the stream's updates (PipeMare's rule). 0: at once."},
    {"spike_compensation", FlagType{},
     Member([](auto& t) -> auto& { return Optimizer(t).spike_compensation; }),
     "sgd with momentum: make up at once for the steps that a late gradient missed."},
};

constexpr ConfigKey kLearningKeys[] = {
    {"policy", ChoiceType{pipeline::UpdatePolicyNames},
     Enumeration<pipeline::UpdatePolicyNames>([](auto& t) -> auto& { return Policy(t).kind; }),
     "The choice of frames. every: every n-th frame. mag: frames in which enough pixels move. "
     "diff: frames that differ from the previous one. div: frames in which the mean motion turns."},
    {"every", WholeType{1, 1'000'000}, Member([](auto& t) -> auto& { return Policy(t).every; }),
     "The number n of the policy every: 1 is every frame."},
    {"moving_share", RealType{0, 1},
     Member([](auto& t) -> auto& { return Policy(t).moving_share; }),
     "mag: the share of pixels that must move by more than moving_pixels."},
    {"moving_pixels", RealType{0, 1000},
     Member([](auto& t) -> auto& { return Policy(t).moving_pixels; })},
    {"difference", RealType{0, 1}, Member([](auto& t) -> auto& { return Policy(t).difference; }),
     "diff: the mean difference of a pixel from the previous picture, from 0 to 1."},
    {"divergence", RealType{0, 1000}, Member([](auto& t) -> auto& { return Policy(t).divergence; }),
     "div: the change of the mean motion since the last update, relative to its length then."},
    {"warm_up", WholeType{0, 1'000'000'000},
     Member([](auto& t) -> auto& { return Policy(t).warm_up; }),
     "Learn from this number of frames at the start of the stream, whatever the policy says."},
    {"force_after", WholeType{0, 1'000'000'000},
     Member([](auto& t) -> auto& { return Policy(t).force_after; }),
     "Learn from the n-th frame after the last update, whatever the policy says. 0: never."},
};

constexpr ConfigKey kScoreKeys[] = {
    {"window_s", RealType{1, 1e6},
     Member([](auto& t) -> auto& { return t.stream->scores.window_s; }),
     "The length of a window, in seconds of the stream's own time: 1 or more."},
    {"compare_with", ChoiceType{pipeline::ReferenceFlowNames},
     Member([](auto& t) -> auto& { return t.stream->scores.compare_with; }),
     "A baseline: a method without learning that runs beside the model on every frame. The "
     "choices are none, prior, dis, dis_fine, dis_fast, dis_ultrafast and farneback. The method "
     "prior is the flow from which the network refine begins. A baseline delays the last stage "
     "by 5 ms a frame of this size (dis); prior takes 2.5 times as long, dis_fine ten times. "
     "The gain over it is then the page's main figure."},
};

constexpr ConfigKey kCheckpointKeys[] = {
    {"folder", PathType{},
     Member([](auto& t) -> auto& { return t.stream->learner.checkpoints.folder; }),
     "In this folder each stream has a folder with its name. Left out: no checkpoints. Name "
     "another folder to start from the beginning."},
    {"every", WholeType{1, 1'000'000'000},
     Member([](auto& t) -> auto& { return t.stream->learner.checkpoints.every; }),
     "The server writes a checkpoint of proven weights after this number of frames, and one at the "
     "end."},
    {"keep", WholeType{1, 1000},
     Member([](auto& t) -> auto& { return t.stream->learner.checkpoints.keep; }),
     "It keeps this number of the newest checkpoints, and the best one."},
};

}  // namespace

ConfigKeys OptimizerKeys() { return kOptimizerKeys; }

void CheckOptimizer(const ConfigValue& entry, StreamConfig& config) {
  constexpr double kMinClip = 1e-6;  // As pipeline::CheckOptimizer().
  const std::optional<ConfigValue> own = entry.Find("optimizer");
  const std::optional<ConfigValue> kind = own ? own->Find("kind") : std::nullopt;
  if (kind && std::ranges::count(pipeline::OptimizerNames(), kind->node().Scalar()) == 0) return;
  pipeline::OptimizerOptions& optimizer = config.learner.optimizer;
  const bool is_sgd = optimizer.kind == pipeline::OptimizerOptions::Kind::kSgd;
  const auto check = [&](std::string_view key, auto& value) {
    if (!value) return;
    if (!is_sgd && own && own->Find(key)) {
      entry.WrongAt("optimizer", key, "is for the kind sgd only: leave it out, or set kind: sgd");
    } else if (!is_sgd) {
      value = {};  // The file's default for streams of the kind sgd.
    } else if (optimizer.momentum == 0) {
      entry.WrongAt("optimizer", key, "needs a momentum above 0, such as momentum: 0.9");
    }
  };
  if (optimizer.clip_update > 0 && optimizer.clip_update < kMinClip) {
    entry.WrongAt("optimizer", "clip_update", "must be 0, or 0.000001 or more");
  }
  check("momentum", optimizer.momentum);
  check("nesterov", optimizer.nesterov);
  check("spike_compensation", optimizer.spike_compensation);
  if (optimizer.nesterov && optimizer.spike_compensation) {
    entry.WrongAt("optimizer", "spike_compensation", "excludes nesterov: leave one of the two out");
  }
}

void CheckClipUpdate(const ConfigValue& stream, StreamConfig& config) {
  pipeline::OptimizerOptions& optimizer = config.learner.optimizer;
  if (optimizer.kind == pipeline::OptimizerOptions::Kind::kRmsProp) return;
  const std::optional<ConfigValue> own = stream.Find("optimizer");
  if (optimizer.clip_update != 0 && own && own->Find("clip_update")) {
    stream.WrongAt("optimizer", "clip_update",
                   "is for the kind rmsprop only: leave it out, or set kind: rmsprop");
  }
  optimizer.clip_update = 0;
}

ConfigKeys LearningKeys() { return kLearningKeys; }

ConfigKeys ScoreKeys() { return kScoreKeys; }

ConfigKeys CheckpointKeys() { return kCheckpointKeys; }

}  // namespace millrace::service
