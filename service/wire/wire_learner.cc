#include "service/wire/wire_learner.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "service/wire/wire_states.h"

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

absl::StatusOr<UpdatePolicyOptions::Kind> KindOf(v1::UpdatePolicyKind kind) {
  switch (kind) {
    case v1::UPDATE_POLICY_KIND_EVERY:
      return UpdatePolicyOptions::Kind::kEvery;
    case v1::UPDATE_POLICY_KIND_MAG:
      return UpdatePolicyOptions::Kind::kMag;
    case v1::UPDATE_POLICY_KIND_DIFF:
      return UpdatePolicyOptions::Kind::kDiff;
    case v1::UPDATE_POLICY_KIND_DIV:
      return UpdatePolicyOptions::Kind::kDiv;
    case v1::UPDATE_POLICY_KIND_UNSPECIFIED:
      return absl::InvalidArgumentError("has no kind; say EVERY, MAG, DIFF or DIV");
    default:
      return absl::InvalidArgumentError(absl::StrCat("has the kind ", static_cast<int>(kind),
                                                     ", which this server does not know; say "
                                                     "EVERY, MAG, DIFF or DIV"));
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
  message.set_cause(LearnerCause(snapshot));
  message.set_learning_rate(snapshot.learning_rate);
  message.set_learning_rate_share(snapshot.learning.rate_scale);
  if (!snapshot.labels) WritePolicy(snapshot.policy, *message.mutable_policy());
  message.mutable_updates()->Add(snapshot.updates.begin(), snapshot.updates.end());
  message.set_roll_backs(snapshot.learning.roll_backs);
}

absl::StatusOr<UpdatePolicyOptions> PolicyOf(const v1::UpdatePolicy& message) {
  UpdatePolicyOptions policy;
  MILLRACE_ASSIGN_OR_RETURN(policy.kind, KindOf(message.kind()));
  if (message.has_every()) policy.every = message.every();
  if (message.has_moving_share()) policy.moving_share = message.moving_share();
  if (message.has_moving_pixels()) policy.moving_pixels = message.moving_pixels();
  if (message.has_difference()) policy.difference = message.difference();
  if (message.has_divergence()) policy.divergence = message.divergence();
  policy.warm_up = message.warm_up();
  policy.force_after = message.force_after();
  MILLRACE_RETURN_IF_ERROR(pipeline::CheckUpdatePolicy(policy));
  return policy;
}

}  // namespace millrace::service
