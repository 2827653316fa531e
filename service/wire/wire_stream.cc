#include <string>

#include "service/config/config_entry.h"
#include "service/overload/overload_text.h"
#include "service/wire/wire.h"
#include "service/wire/wire_states.h"
#include "service/wire/wire_struct.h"
#include "service/wire/wire_time.h"

namespace millrace::service {
namespace {

void WriteFrames(const FrameCounts& frames, v1::FrameCounts& message) {
  message.set_received(frames.received);
  message.set_predicted(frames.predicted);
  for (std::size_t i = 0; i < kDropReasons; ++i) {
    v1::DroppedFrames& dropped = *message.add_dropped();
    dropped.set_reason(ToWire(static_cast<DropReason>(i)));
    dropped.set_frames(frames.dropped[i]);
  }
  message.set_in_flight(frames.in_flight);
}

void WriteStage(const pipeline::StageDescription& stage, v1::Stage& message) {
  for (const std::string& layer : stage.layers) message.add_layers(layer);
  message.set_device(stage.device);
  message.set_rank(stage.rank);
  SetDuration(FromMilliseconds(stage.forward_ms), *message.mutable_forward_cost());
  SetDuration(FromMilliseconds(stage.backward_ms), *message.mutable_backward_cost());
  SetDuration(FromMilliseconds(stage.update_ms), *message.mutable_update_cost());
  message.set_staleness(stage.staleness);
  message.set_mismatch(stage.mismatch);
}

void WriteRatePlan(const pipeline::RatePlan& plan, v1::RatePlan& message) {
  message.set_frames_per_second(plan.frames_per_second);
  message.set_holds(plan.holds);
  message.set_expected_dropped_share(plan.dropped_share);
  message.set_limit(plan.limit);
  message.set_times_switched(plan.switched);
  message.set_times_kept(plan.kept);
  message.set_replan_cause(plan.why);
}

void WriteSchedule(const pipeline::LearnerDescription& learner,
                   const std::vector<std::int64_t>& updates, v1::Schedule& message) {
  message.set_kind(learner.schedule);
  for (std::size_t i = 0; i < learner.stages.size(); ++i) {
    v1::Stage& stage = *message.add_stages();
    WriteStage(learner.stages[i], stage);
    if (i < updates.size()) stage.set_updates(updates[i]);
  }
  message.mutable_input()->set_width(learner.width);
  message.mutable_input()->set_height(learner.height);
  message.set_frames_per_second(learner.samples_per_second);
  message.set_sequential_frames_per_second(learner.sequential_samples_per_second);
  SetDuration(FromMilliseconds(learner.delay_ms), *message.mutable_expected_delay());
  message.set_update_every(learner.update_every);
  if (learner.rate_plan) WriteRatePlan(*learner.rate_plan, *message.mutable_rate_plan());
}

void WriteTask(const pipeline::LabelledTask& task, v1::LabelledTask& message) {
  message.set_kind(task.task == pipeline::LabelTask::kClassification ? v1::LABEL_KIND_CLASS
                                                                     : v1::LABEL_KIND_VALUES);
  message.set_outputs(task.outputs);
  for (const std::string& name : task.classes) message.add_class_names(name);
  message.set_window(task.window);
}

void WriteSource(const ingest::SourceStatus& source, v1::Stream& message) {
  message.set_source_state(ToWire(source.state));
  message.set_source_cause(std::string(source.cause.message()));
  message.set_epoch(source.epoch);
  message.set_reconnects(source.reconnects);
  if (source.camera_width > 0) {
    message.mutable_camera()->set_width(source.camera_width);
    message.mutable_camera()->set_height(source.camera_height);
  }
  message.set_camera_frames_per_second(source.camera_frames_per_second);
}

void WriteOverload(const Overload& overload, v1::Overload& message) {
  message.set_kind(ToWire(overload.kind));
  message.set_frames_per_second_in(overload.received_per_second);
  message.set_predictions_per_second(overload.predicted_per_second);
  message.set_dropped_per_second(overload.dropped_per_second);
  const Remedies& remedies = overload.remedies;
  message.set_max_fps(remedies.max_fps);
  if (remedies.width > 0) {
    message.mutable_input()->set_width(remedies.width);
    message.mutable_input()->set_height(remedies.height);
  }
  message.set_stages(remedies.stages);
  message.set_cause(DescribeOverload(overload));
  message.set_remedy(DescribeRemedies(overload));
}

void WritePromise(const Promise& promise, v1::Promise& message) {
  message.set_frames_per_second(promise.frames_per_second);
  SetDuration(FromSeconds(promise.delay_s), *message.mutable_delay());
  message.set_rate_kept(promise.rate_kept);
  message.set_delay_kept(promise.delay_kept);
}

}  // namespace

void ToMessage(const ServedStream& served, v1::Stream& message) {
  const CameraStream& stream = *served.stream;
  const StreamSnapshot snapshot = stream.Snapshot();
  message.set_name(snapshot.name);
  message.set_uri(snapshot.uri);
  WriteSource(snapshot.source, message);
  message.set_learner_state(ToWire(snapshot.learner_state));
  message.set_learner_cause(LearnerCause(snapshot));
  WriteFrames(snapshot.frames, *message.mutable_frames());
  message.set_frames_per_second_in(snapshot.frames_per_second_in);
  message.set_predictions_per_second(snapshot.predictions_per_second);
  if (snapshot.delay_p99_s > 0) {
    SetDuration(FromSeconds(snapshot.delay_p50_s), *message.mutable_delay_p50());
    SetDuration(FromSeconds(snapshot.delay_p99_s), *message.mutable_delay_p99());
  }
  message.set_loss(snapshot.recent.loss);
  message.set_loss_no_motion(snapshot.recent.loss_no_motion);
  const auto learner = stream.learner();
  WriteSchedule(*learner, snapshot.updates, *message.mutable_schedule());
  if (const auto& labels = learner->labels) WriteTask(*labels, *message.mutable_labelled_task());
  const std::string entry = served.config().entry;
  message.set_etag(EtagOf(entry));
  *message.mutable_config() = ToStruct(ShownEntry(entry));
  message.set_run_id(served.run_id);
  WriteOverload(snapshot.overload, *message.mutable_overload());
  WritePromise(snapshot.promise, *message.mutable_promise());
}

}  // namespace millrace::service
