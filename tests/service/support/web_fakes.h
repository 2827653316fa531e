// A fake camera stream that the test controls, for users of streams: the page, the metrics, the
// summary.
#pragma once

#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "service/registry/stream_record.h"
#include "service/stream/camera_stream.h"

namespace millrace::service {

inline StreamSnapshot LearningSnapshot(std::string name) {
  StreamSnapshot snapshot;
  snapshot.name = std::move(name);
  snapshot.uri = "street.avi";
  snapshot.source = {.state = ingest::SourceState::kStreaming,
                     .cause = absl::OkStatus(),
                     .entered = {3, 2, 4, 1, 0, 0, 0},
                     .epoch = 0,
                     .reconnects = 0,
                     .size_changes = 2,
                     .camera_width = 768,
                     .camera_height = 576,
                     .camera_frames_per_second = 10};
  snapshot.frames = {.received = 412, .predicted = 405, .dropped = {3, 1, 0, 0, 0}, .in_flight = 3};
  snapshot.frames_per_second_in = 10;
  snapshot.predictions_per_second = 9.9;
  snapshot.delay_p50_s = 0.134;
  snapshot.delay_p99_s = 0.171;
  snapshot.recent = {.predictions = 200, .loss = 0.037, .loss_no_motion = 0.05};
  snapshot.updates = {404, 405};
  snapshot.loads = {{.predicting = 0.21, .learning = 0.44}, {.predicting = 0.24, .learning = 0.4}};
  snapshot.learning_rate = 0.001;
  return snapshot;
}

inline pipeline::LearnerDescription TwoStages() {
  pipeline::LearnerDescription learner;
  learner.schedule = "one_f_one_b_star";
  learner.width = 352;
  learner.height = 264;
  learner.stages = {{.layers = {"features", "level 1"},
                     .device = "cpu:0",
                     .forward_ms = 21,
                     .backward_ms = 44,
                     .update_ms = 0.6,
                     .staleness = 1,
                     .mismatch = 0},
                    {.layers = {"level 2", "level 3"},
                     .device = "cpu:1",
                     .forward_ms = 24,
                     .backward_ms = 40,
                     .update_ms = 0.4,
                     .staleness = 0,
                     .mismatch = 0}};
  learner.samples_per_second = 15.1;
  learner.sequential_samples_per_second = 7.7;
  learner.delay_ms = 130;
  return learner;
}

/// A prediction of frame `number`: a disc that moves over a still ground.
inline std::shared_ptr<const Prediction> MovingDisc(const std::string& stream, std::int64_t number,
                                                    int width = 352, int height = 264) {
  auto picture = std::make_shared<ingest::Picture>();
  picture->width = width;
  picture->height = height;
  auto flow = std::make_shared<std::vector<float>>();
  const double turn = static_cast<double>(number) * 0.15;
  const double x0 = width * (0.5 + 0.3 * std::cos(turn));
  const double y0 = height * (0.5 + 0.3 * std::sin(turn));
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const bool in_disc = std::hypot(x - x0, y - y0) < height * 0.17;
      const auto ground = static_cast<std::uint8_t>(60 + ((x / 16 + y / 16) % 2) * 25);
      const auto shade = static_cast<std::uint8_t>(in_disc ? 215 : ground);
      picture->rgb.insert(picture->rgb.end(), {shade, ground, ground});
      flow->push_back(in_disc ? static_cast<float>(-3.5 * std::sin(turn)) : 0.0F);
      flow->push_back(in_disc ? static_cast<float>(3.5 * std::cos(turn)) : 0.0F);
    }
  }
  auto prediction = std::make_shared<Prediction>();
  prediction->stream = stream;
  prediction->frame_number = number;
  prediction->delay = std::chrono::milliseconds(134);
  prediction->delay_frames = 1;
  prediction->model = {.sample = number,
                       .width = width,
                       .height = height,
                       .flow = flow,
                       .loss = 0.037F,
                       .loss_no_motion = 0.05F,
                       .updates = number,
                       .terms = {0.5F, 2.0F},
                       .finite = true};
  prediction->previous = picture;
  prediction->picture = picture;
  prediction->camera_width = 768;
  prediction->camera_height = 576;
  return prediction;
}

/// Thread-safe.
class FakeCameraStream final : public CameraStream {
 public:
  explicit FakeCameraStream(const std::string& name) : snapshot_(LearningSnapshot(name)) {
    config_.name = name;
  }

  /// Changes what Snapshot() returns: `change` gets it by reference.
  template <typename Change>
  void Set(const Change& change) {
    MutexLock lock(mu_);
    change(snapshot_);
  }

  [[nodiscard]] const StreamConfig& config() const override { return config_; }
  /// Its predictions are compared with that method. For before the stream is used.
  void CompareWith(const std::string& method) { config_.scores.compare_with = method; }
  /// Changes what learner() returns: `change` gets it by reference.
  template <typename Change>
  void Describe(const Change& change) {
    MutexLock lock(mu_);
    change(learner_);
  }

  [[nodiscard]] std::shared_ptr<const pipeline::LearnerDescription> learner() const override {
    MutexLock lock(mu_);
    return std::make_shared<const pipeline::LearnerDescription>(learner_);
  }
  [[nodiscard]] const pipeline::Resumption& resumption() const override { return resumption_; }
  /// It computes on these GPUs, too. For before the stream is used.
  void PutOn(std::vector<pipeline::GpuMemory> gpus) { gpus_ = std::move(gpus); }
  [[nodiscard]] std::vector<pipeline::GpuMemory> gpu_memory() const override { return gpus_; }
  [[nodiscard]] PredictionRing& ring() override { return ring_; }
  [[nodiscard]] StreamSnapshot Snapshot() const override {
    MutexLock lock(mu_);
    return snapshot_;
  }
  /// Its frames are pushed through `entry`. For before the stream is used.
  void TakeFramesFrom(std::shared_ptr<ingest::PushEntry> entry) { push_entry_ = std::move(entry); }
  [[nodiscard]] std::shared_ptr<ingest::PushEntry> push_entry() override { return push_entry_; }
  [[nodiscard]] absl::Status TakesLabels() const override { return absl::OkStatus(); }
  absl::Status Label(std::int64_t /*frame*/, const ClientLabel& /*label*/) override {
    return absl::OkStatus();
  }
  absl::Status SetMode(LearnerState mode) override {
    Set([mode](StreamSnapshot& snapshot) { snapshot.learner_state = mode; });
    return absl::OkStatus();
  }
  absl::Status Change(const LearnerChange& change) override {
    Set([&change](StreamSnapshot& snapshot) {
      snapshot.learning_rate = change.learning_rate.value_or(snapshot.learning_rate);
    });
    return absl::OkStatus();
  }
  void WriteCheckpoint(const std::stop_token& /*stop*/, OnCheckpoint done) override {
    if (on_asked_) return on_asked_(std::move(done));
    done("000000000405");
  }
  /// A request for a checkpoint goes to `on_asked` instead. REQUIRES: the stream is not used yet.
  void OnAskedForACheckpoint(std::function<void(OnCheckpoint)> on_asked) {
    on_asked_ = std::move(on_asked);
  }
  absl::Status ReplaceSource(const ingest::SourceOptions& /*source*/) override {
    return absl::OkStatus();
  }
  [[nodiscard]] int pictures_per_sample() const override { return 2; }
  absl::StatusOr<Prediction> Predict(
      std::span<const std::shared_ptr<const ingest::Picture>> /*pictures*/) override {
    return absl::FailedPreconditionError("a fake is asked nothing");
  }
  /// What OperationsSince() chooses from.
  void SetOperations(std::vector<pipeline::PastOperation> operations) {
    MutexLock lock(mu_);
    operations_ = std::move(operations);
  }
  [[nodiscard]] std::vector<pipeline::PastOperation> OperationsSince(
      nanoseconds since) const override {
    MutexLock lock(mu_);
    std::vector<pipeline::PastOperation> found = operations_;
    std::erase_if(found, [since](const auto& operation) { return operation.end < since; });
    return found;
  }
  [[nodiscard]] bool running() const override { return !ended() && !ring_.closed(); }
  [[nodiscard]] bool ended() const override {
    return Snapshot().source.state == ingest::SourceState::kEnded;
  }
  void Stop() override { ring_.Close(); }

 private:
  StreamConfig config_;
  std::vector<pipeline::GpuMemory> gpus_;
  std::shared_ptr<ingest::PushEntry> push_entry_;
  const pipeline::Resumption resumption_;
  PredictionRing ring_{16};
  std::function<void(OnCheckpoint)> on_asked_;

  mutable Mutex mu_;
  StreamSnapshot snapshot_ ABSL_GUARDED_BY(mu_);
  pipeline::LearnerDescription learner_ ABSL_GUARDED_BY(mu_) = TwoStages();
  std::vector<pipeline::PastOperation> operations_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
