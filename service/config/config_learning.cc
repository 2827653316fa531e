// The sections `learning`, `scores` and `checkpoints`.
#include "pipeline/decisions/update_policy.h"
#include "pipeline/learner/reference_flow_names.h"
#include "service/config/config_keys.h"

namespace millrace::service {
namespace {

pipeline::UpdatePolicyOptions& Policy(const ConfigTarget& target) {
  return target.stream->flow.learning.policy;
}

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
     "A method without learning that runs beside the model on every frame, as a baseline: none, "
     "prior (the flow from which the network begins), dis, dis_fine, dis_fast, dis_ultrafast or "
     "farneback. It delays the last stage by 5 ms a frame of this size (dis); prior takes 2.5 "
     "times "
     "as long, dis_fine ten times. The gain over it is then the page's main figure."},
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

ConfigKeys LearningKeys() { return kLearningKeys; }

ConfigKeys ScoreKeys() { return kScoreKeys; }

ConfigKeys CheckpointKeys() { return kCheckpointKeys; }

}  // namespace millrace::service
