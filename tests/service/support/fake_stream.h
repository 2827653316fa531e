// A real CameraStream over a fake source and a fake learner: the test is the camera and the
// network.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "service/stream/camera_stream.h"
#include "tests/service/support/fake_learner.h"
#include "tests/service/support/fake_source.h"

namespace millrace::service {

struct FakeStreamOptions {
  /// Of the stream, but for what is said below. One with a name has its own URI, too.
  StreamConfig config = {};
  std::string name = "street";
  std::string uri = "rtsp://user:secret@camera/1";
  std::string schedule = "one_f_one_b_star";
  bool next_frame = false;
  int queue_capacity = 2;
  /// Drop the oldest frame when the queue is full, or else wait.
  bool live = true;
  FakeLearner::Options learner = {};
  std::size_t ring_capacity = 16;
  std::function<void(const Prediction&)> observe = nullptr;
  std::function<void(Prediction&)> compare = nullptr;
  std::function<void(ingest::SourceState, const absl::Status&)> on_source_state = nullptr;
  std::function<void(LearnerState, const absl::Status&)> on_learner_state = nullptr;
  std::function<void(const Overload&)> on_overload = nullptr;
  std::function<absl::Status(const pipeline::LearnerDescription&)> admit = nullptr;
};

/// The URI of a source that cannot be opened.
inline constexpr char kNoSuchSource[] = "file:nowhere.avi";

/// `stream` owns the parts, and they live as long.
struct FakeStream {
  std::unique_ptr<FakeClock> clock = std::make_unique<FakeClock>(std::chrono::hours(1));
  /// The first source, and all that were opened, in order.
  FakeSource* source = nullptr;
  std::shared_ptr<std::vector<FakeSource*>> sources = std::make_shared<std::vector<FakeSource*>>();
  FakeLearner* learner = nullptr;
  /// What a checkpoint would be told of the source.
  std::function<pipeline::SourcePosition()> position;
  /// Says that a checkpoint was written, or why not.
  std::function<void(const pipeline::CheckpointWritten&)> on_checkpoint;
  /// Why there is no stream: it was not admitted.
  absl::Status started;
  std::unique_ptr<CameraStream> stream;
};

inline FakeStream StartFakeStream(const FakeStreamOptions& options = {}) {
  FakeStream fake;
  CameraStream::Options stream;
  stream.config = options.config;
  const bool named = !options.config.name.empty();
  if (!named) stream.config.name = options.name;
  stream.config.source = {
      .uri = named ? options.config.source.uri : options.uri,
      .width = options.learner.width,
      .height = options.learner.height,
      .as_camera = options.live,
      .queue_capacity = options.queue_capacity,
      .when_full = options.live ? ingest::WhenFull::kDropOldest : ingest::WhenFull::kWait};
  stream.config.learner.schedule = options.schedule;
  stream.config.flow.next_frame = options.next_frame;
  stream.clock = fake.clock.get();
  stream.ring_capacity = options.ring_capacity;
  stream.observe = options.observe;
  stream.compare = options.compare;
  stream.on_source_state = options.on_source_state;
  stream.on_learner_state = options.on_learner_state;
  stream.on_overload = options.on_overload;
  stream.cpu_times = [] { return CpuTimes(); };  // No core stands idle.
  stream.admit = options.admit;
  stream.make_learner = [&](const StreamConfig& /*config*/, pipeline::OnPrediction call,
                            const pipeline::LearnerHooks& hooks)
      -> absl::StatusOr<std::unique_ptr<pipeline::Learner>> {
    auto learner = std::make_unique<FakeLearner>(options.learner, std::move(call));
    if (options.schedule == "auto") {
      learner->Describe([](pipeline::LearnerDescription& d) { d.rate_plan.emplace(); });
    }
    fake.learner = learner.get();
    fake.position = hooks.position;
    fake.on_checkpoint = hooks.on_write;
    return learner;
  };
  // Called again where another source takes the place of the first.
  stream.open_source =
      [clock = fake.clock.get(), sources = fake.sources, shape = stream.config.source](
          const ingest::SourceOptions& asked) -> absl::StatusOr<std::unique_ptr<ingest::Source>> {
    if (asked.uri == kNoSuchSource) {
      absl::Status why = absl::NotFoundError("there is no such source");
      if (asked.on_state) asked.on_state(ingest::SourceState::kFailed, why);
      return why;
    }
    ingest::SourceOptions source = shape;
    source.on_state = asked.on_state;
    auto opened = std::make_unique<FakeSource>(source, *clock);
    sources->push_back(opened.get());
    return opened;
  };
  auto started = CameraStream::Start(std::move(stream));
  fake.started = started.status();
  MILLRACE_CHECK(started.ok() || options.admit != nullptr);
  if (!started.ok()) return fake;
  fake.stream = *std::move(started);
  fake.source = fake.sources->front();
  return fake;
}

}  // namespace millrace::service
