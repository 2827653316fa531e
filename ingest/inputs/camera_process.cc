#include "ingest/inputs/camera_process.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "base/status.h"
#include "ingest/gst/gst_error.h"
#include "ingest/gst/gst_handles.h"
#include "ingest/gst/gst_pipeline.h"
#include "ingest/inputs/open_source.h"
#include "ingest/inputs/source_pipelines.h"
#include "ingest/isolation/camera_task.h"
#include "ingest/isolation/messages.h"
#include "ingest/isolation/packets.h"
#include "ingest/isolation/picture_slots.h"
#include "spdlog/sinks/base_sink.h"
#include "spdlog/spdlog.h"

namespace millrace::ingest {
namespace {

/// Visible only to this process: /proc shows the environment of the process's start.
constexpr const char* kPasswordVariable = "MILLRACE_CAMERA_PASSWORD";

/// Sends log lines to the server.
class ToServer final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit ToServer(int socket) : socket_(socket) {}

 private:
  void sink_it_(const spdlog::details::log_msg& line) override {
    const std::string text(line.payload.data(), line.payload.size());
    SendPacket(socket_, Encode(LogLine{.level = line.level, .text = text}), /*wait=*/true);
  }
  void flush_() override {}

  const int socket_;
};

/// Sends a pipeline's events to the server. Thread-safe.
class MessageSender final : public PipelineListener {
 public:
  MessageSender(int socket, MappedSlots slots) : socket_(socket), slots_(std::move(slots)) {
    is_free_.fill(true);
  }

  /// Sets the pipeline whose codec is reported. Call it before the pipeline plays.
  void NameCodecOf(const PicturePipeline& pipeline) { pipeline_ = &pipeline; }

  void OnFormat(const CameraFormat& format) override { Send(format); }
  void OnWarning(const absl::Status& warning) override { Send(PipelineWarning{warning}); }
  void OnOutcome(absl::Status outcome) override { Send(PipelineOutcome{std::move(outcome)}); }

  void OnPicture(DecodedPicture picture) override ABSL_LOCKS_EXCLUDED(mu_) {
    if (pipeline_ != nullptr) Send(PipelineCodec{std::exchange(pipeline_, nullptr)->Codec()});
    const std::optional<std::uint32_t> slot = AwaitSlot();
    if (!slot) return;
    std::ranges::copy(picture.picture->rgb, slots_.WritableSlot(*slot).begin());
    Send(PictureInSlot{.slot = *slot,
                       .stream_time = picture.stream_time,
                       .duration = picture.duration,
                       .camera_time = picture.camera_time});
  }

  void Free(std::uint32_t slot) ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock lock(mu_);
    if (slot < is_free_.size()) is_free_.at(slot) = true;
    changed_.notify_all();
  }
  /// Ends all waits for a slot.
  void Close() ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock lock(mu_);
    is_closed_ = true;
    changed_.notify_all();
  }

 private:
  void Send(const FromCamera& message) const {
    SendPacket(socket_, Encode(message), /*wait=*/true);
  }

  [[nodiscard]] std::optional<std::uint32_t> AwaitSlot() ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock lock(mu_);
    for (;;) {
      if (is_closed_) return std::nullopt;
      const auto found = std::ranges::find(is_free_, true);
      if (found != is_free_.end()) {
        *found = false;
        return static_cast<std::uint32_t>(found - is_free_.begin());
      }
      changed_.wait(mu_);
    }
  }

  const int socket_;
  MappedSlots slots_;  ///< Only the pipeline's thread writes to it.
  const PicturePipeline* pipeline_ = nullptr;

  Mutex mu_;
  CondVar changed_;
  std::array<bool, kPictureSlots> is_free_ ABSL_GUARDED_BY(mu_);
  bool is_closed_ ABSL_GUARDED_BY(mu_) = false;
};

absl::StatusOr<PipelineOptions> PipelineOf(const CameraTask& task) {
  SourceOptions options = {.uri = task.uri,
                           .width = task.width,
                           .height = task.height,
                           .hardware_decode = task.hardware_decode,
                           .camera = task.camera};
  if (task.has_password) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): before any thread starts.
    setenv(kPasswordVariable, task.password.c_str(), 1);
    options.camera.login.password_variable = kPasswordVariable;
  }
  MILLRACE_ASSIGN_OR_RETURN(const Uri uri, ParseUri(task.uri));
  return RtspPipeline(
      {.options = options, .settings = {}, .uri = uri, .shown = WithoutCredentials(task.uri)});
}

absl::StatusOr<std::unique_ptr<GstPicturePipeline>> NewPipelineOf(const CameraTask& task,
                                                                  MessageSender& sender) {
  MILLRACE_ASSIGN_OR_RETURN(const PipelineOptions options, PipelineOf(task));
  return GstPicturePipeline::Create(options, sender);
}

/// Exists until the process ends.
std::unique_ptr<Spawner>& TheSpawner() {
  static auto* const spawner = new std::unique_ptr<Spawner>;
  return *spawner;
}

}  // namespace

absl::Status StartCameraProcesses(std::span<char> arguments) {
  MILLRACE_ASSIGN_OR_RETURN(TheSpawner(), Spawner::Start({.prepare = PrepareCameraProcess,
                                                          .run = RunCameraProcess,
                                                          .arguments = arguments}));
  return absl::OkStatus();
}

const Spawner* CameraProcesses() { return TheSpawner().get(); }

absl::Status CheckCameraProcesses() {
  const Spawner* const spawner = CameraProcesses();
  return spawner == nullptr ? absl::OkStatus() : spawner->Check();
}

// All processes share the libraries that are loaded here.
void PrepareCameraProcess() {
  LoadGStreamer();
  for (const char* const element :
       {"rtspsrc", "rtpjitterbuffer", "rtph264depay", "h264parse", "avdec_h264", "decodebin",
        "videoscale", "videoconvert", "appsink"}) {
    const GstOwned<GstElement> loaded(gst_element_factory_make(element, nullptr));
    if (loaded) gst_object_ref_sink(loaded.get());
  }
}

int RunCameraProcess(Descriptor socket) {
  std::optional<Packet> first = ReceivePacket(socket.value(), kMaxTaskBytes, /*with_file=*/true);
  if (!first) return 0;  // The server has already closed the socket.
  const absl::StatusOr<CameraTask> task = DecodeTask(first->bytes);
  if (!task.ok()) return kExitNoTask;
  spdlog::set_default_logger(
      std::make_shared<spdlog::logger>("camera", std::make_shared<ToServer>(socket.value())));
  spdlog::set_level(static_cast<spdlog::level::level_enum>(task->log_level));
  const std::size_t picture_bytes =
      static_cast<std::size_t>(task->width) * static_cast<std::size_t>(task->height) * 3;
  absl::StatusOr<MappedSlots> slots =
      MappedSlots::Map(first->file, picture_bytes, /*writable=*/true);
  if (!slots.ok()) return kExitNoTask;
  MessageSender sender(socket.value(), *std::move(slots));
  auto pipeline = NewPipelineOf(*task, sender);
  if (!pipeline.ok()) {
    sender.OnOutcome(pipeline.status());
    return 0;
  }
  sender.NameCodecOf(**pipeline);
  (*pipeline)->Play();
  while (true) {
    const std::optional<Packet> packet = ReceivePacket(socket.value(), sizeof(std::uint32_t));
    if (!packet) break;
    if (const auto slot = DecodeFreeSlot(packet->bytes)) sender.Free(*slot);
  }
  sender.Close();
  spdlog::set_level(spdlog::level::off);  // The exit code reports the end.
  return (*pipeline)->End() ? 0 : kExitHung;
}

}  // namespace millrace::ingest
