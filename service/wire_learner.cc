#include "service/wire_learner.h"

#include "service/wire_states.h"

namespace millrace::service {
namespace {

using pipeline::UpdatePolicyOptions;

v1::UpdatePolicyKind KindOf(UpdatePolicyOptions::Kind kind) {
  switch (kind) {
    case UpdatePolicyOptions::Kind::kEvery:
      return v1::UPDATE_POLICY_KIND_EVERY;
    case UpdatePolicyOptions::Kind::kMag:
      return v1::UPDATE_POLICY_KIND_MAG;
    case UpdatePolicyOptions::Kind::kDiff:
      return v1::UPDATE_POLICY_KIND_DIFF;
    case UpdatePolicyOptions::Kind::kDiv:
      return v1::UPDATE_POLICY_KIND_DIV;
  }
  return v1::UPDATE_POLICY_KIND_UNSPECIFIED;
}

UpdatePolicyOptions::Kind KindOf(v1::UpdatePolicyKind kind) {
  switch (kind) {
    case v1::UPDATE_POLICY_KIND_MAG:
      return UpdatePolicyOptions::Kind::kMag;
    case v1::UPDATE_POLICY_KIND_DIFF:
      return UpdatePolicyOptions::Kind::kDiff;
    case v1::UPDATE_POLICY_KIND_DIV:
      return UpdatePolicyOptions::Kind::kDiv;
    default:
      return UpdatePolicyOptions::Kind::kEvery;
  }
}

void WritePolicy(const UpdatePolicyOptions& policy, v1::UpdatePolicy& message) {
  message.set_kind(KindOf(policy.kind));
  switch (policy.kind) {
    case UpdatePolicyOptions::Kind::kEvery:
      message.set_every(policy.every);
      break;
    case UpdatePolicyOptions::Kind::kMag:
      message.set_moving_share(policy.moving_share);
      message.set_moving_pixels(policy.moving_pixels);
      break;
    case UpdatePolicyOptions::Kind::kDiff:
      message.set_difference(policy.difference);
      break;
    case UpdatePolicyOptions::Kind::kDiv:
      message.set_divergence(policy.divergence);
      break;
  }
  message.set_warm_up(policy.warm_up);
  message.set_force_after(policy.force_after);
}

}  // namespace

void ToMessage(const CameraStream& stream, v1::Learner& message) {
  const StreamSnapshot snapshot = stream.Snapshot();
  message.set_stream(snapshot.name);
  message.set_state(ToWire(snapshot.learner_state));
  message.set_cause(std::string(snapshot.learner.message()));
  message.set_learning_rate(snapshot.learning_rate);
  message.set_learning_rate_share(snapshot.learning.rate_scale);
  if (!snapshot.labels) WritePolicy(snapshot.policy, *message.mutable_policy());
  message.mutable_updates()->Add(snapshot.updates.begin(), snapshot.updates.end());
  message.set_roll_backs(snapshot.learning.roll_backs);
}

UpdatePolicyOptions PolicyOf(const v1::UpdatePolicy& message) {
  UpdatePolicyOptions policy;
  const auto take = [](auto value, auto& out) {
    if (value != 0) out = value;
  };
  policy.kind = KindOf(message.kind());
  take(message.every(), policy.every);
  take(message.moving_share(), policy.moving_share);
  take(message.moving_pixels(), policy.moving_pixels);
  take(message.difference(), policy.difference);
  take(message.divergence(), policy.divergence);
  policy.warm_up = message.warm_up();
  policy.force_after = message.force_after();
  return policy;
}

}  // namespace millrace::service
