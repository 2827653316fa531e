#include "ingest/isolation/isolated_pipeline.h"

#include <pthread.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/exception_to_status.h"
#include "base/status.h"
#include "ingest/isolation/packets.h"
#include "ingest/source/abandoned_pipelines.h"

namespace millrace::ingest {
namespace {

/// The maximum of logged lines per second; further lines are counted.
constexpr int kMaxLines = 200;
/// The maximum of other messages per second, except pictures and lines. A camera whose format
/// changes with each picture stays below it.
constexpr int kMaxMessages = 2000;
/// The maximum of pictures per second, more than any camera sends.
constexpr int kMaxPictures = 2000;
constexpr int kWarningLevel = 3;
constexpr int kErrorLevel = 4;

std::size_t BytesOf(const Extent& grid) {
  return static_cast<std::size_t>(grid.width) * static_cast<std::size_t>(grid.height) * 3;
}

bool HasHung(const ProcessEnded& ended) {
  return WIFEXITED(ended.wait_status) && WEXITSTATUS(ended.wait_status) == kExitHung;
}

template <typename... Visitors>
struct Visitor : Visitors... {
  using Visitors::operator()...;
};
template <typename... Visitors>
Visitor(Visitors...) -> Visitor<Visitors...>;

}  // namespace

class IsolatedPipeline::MessageLimits {
 public:
  explicit MessageLimits(const Options& options) : options_(options) {}

  /// Whether the message is within the limits.
  bool Allows(const FromCamera& message) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= second_ends_) {
      if (lines_ > kMaxLines) {
        options_.log(kWarningLevel, absl::StrCat("and ", lines_ - kMaxLines, " more lines"));
      }
      lines_ = messages_ = pictures_ = 0;
      second_ends_ = now + std::chrono::seconds(1);
    }
    if (std::holds_alternative<PictureInSlot>(message)) return ++pictures_ <= kMaxPictures;
    if (!std::holds_alternative<LogLine>(message)) return ++messages_ <= kMaxMessages;
    ++lines_;
    return true;
  }
  [[nodiscard]] bool AllowsLine() const { return lines_ <= kMaxLines; }

 private:
  const Options& options_;
  std::chrono::steady_clock::time_point second_ends_ = {};
  int lines_ = 0;
  int messages_ = 0;
  int pictures_ = 0;
};

absl::StatusOr<std::unique_ptr<IsolatedPipeline>> IsolatedPipeline::Create(
    Options options, const Spawner& spawner, PipelineListener& listener) {
  const std::size_t bytes = BytesOf(options.grid);
  MILLRACE_ASSIGN_OR_RETURN(Descriptor file, NewSlotsFile(bytes));
  MILLRACE_ASSIGN_OR_RETURN(MappedSlots slots, MappedSlots::Map(file, bytes, /*writable=*/false));
  MILLRACE_ASSIGN_OR_RETURN(auto ends, NewPacketSocket());
  MILLRACE_RETURN_IF_ERROR(spawner.Spawn(ends.second));
  return std::make_unique<IsolatedPipeline>(std::move(options), std::move(ends.first),
                                            std::move(file), std::move(slots), listener);
}

IsolatedPipeline::IsolatedPipeline(Options options, Descriptor socket, Descriptor slots_file,
                                   MappedSlots slots, PipelineListener& listener)
    : options_(std::move(options)),
      socket_(std::move(socket)),
      slots_file_(std::move(slots_file)),
      slots_(std::move(slots)),
      listener_(listener),
      reader_([this] { Read(); }) {}

void IsolatedPipeline::Play() {
  // If sending fails, the process has ended, and the reader reports it.
  SendPacket(socket_.value(), options_.task, /*wait=*/false, slots_file_.value());
}

std::string IsolatedPipeline::Codec() const {
  const MutexLock lock(mu_);
  return codec_;
}

bool IsolatedPipeline::End() {
  listener_.Close();
  shutdown(socket_.value(), SHUT_WR);
  const auto until = std::chrono::steady_clock::now() + options_.end;
  bool has_ended = false;
  {
    const MutexLock lock(mu_);
    while (!has_ended_) {
      if (changed_.wait_until(mu_, until) == std::cv_status::timeout) break;
    }
    has_ended = has_ended_;
  }
  shutdown(socket_.value(), SHUT_RDWR);
  if (reader_.joinable()) reader_.join();
  return has_ended;
}

void IsolatedPipeline::Read() {
  pthread_setname_np(pthread_self(), "camera");
  absl::Status outcome = ExceptionToStatus([this] { return ReadMessages(); });
  shutdown(socket_.value(), SHUT_RDWR);  // If the process still runs, the spawner kills it.
  listener_.OnOutcome(std::move(outcome));
  const MutexLock lock(mu_);
  has_ended_ = true;
  changed_.notify_all();
}

absl::Status IsolatedPipeline::ReadMessages() {
  MessageLimits limits(options_);
  while (true) {
    const auto packet = ReceivePacket(socket_.value(), kMaxMessageBytes);
    if (!packet) return absl::UnavailableError("its process is gone");
    absl::StatusOr<FromCamera> message = Decode(packet->bytes, kPictureSlots);
    if (!message.ok()) {
      return absl::UnavailableError(
          absl::StrCat("its process says what it may not: ", message.status().message()));
    }
    if (!limits.Allows(*message)) return absl::UnavailableError("its process says too much");
    if (const auto* const ended = std::get_if<ProcessEnded>(&*message)) return OutcomeOf(*ended);
    if (const auto* const line = std::get_if<LogLine>(&*message)) {
      if (limits.AllowsLine()) options_.log(line->level, line->text);
    } else {
      Handle(*std::move(message));
    }
  }
}

absl::Status IsolatedPipeline::OutcomeOf(const ProcessEnded& ended) const {
  if (HasHung(ended)) {
    CountKilledPipeline();
    options_.log(kErrorLevel,
                 "its pipeline hangs in GStreamer; its process was ended. What the camera "
                 "sends is faulty: update or restart the camera");
  }
  return WhyEnded(ended);
}

void IsolatedPipeline::Handle(FromCamera message) {
  std::visit(
      Visitor{[&](const CameraFormat& format) { listener_.OnFormat(format); },
              [&](const PictureInSlot& picture) { Show(picture); },
              [&](const PipelineWarning& warning) { listener_.OnWarning(warning.status); },
              [&](PipelineOutcome& outcome) { listener_.OnOutcome(std::move(outcome.status)); },
              [&](PipelineCodec& codec) {
                const MutexLock lock(mu_);
                codec_ = std::move(codec.name);
              },
              [](const auto& /*of the log, or the spawner*/) {}},
      message);
}

// The process may write to the slot meanwhile; that damages only the picture.
void IsolatedPipeline::Show(const PictureInSlot& message) {
  const std::span<const std::uint8_t> pixels = slots_.Slot(message.slot);
  auto picture = std::make_shared<Picture>();
  picture->width = options_.grid.width;
  picture->height = options_.grid.height;
  picture->rgb.assign(pixels.begin(), pixels.end());
  listener_.OnPicture({.picture = std::move(picture),
                       .stream_time = message.stream_time,
                       .duration = message.duration,
                       .camera_time = message.camera_time});
  SendPacket(socket_.value(), EncodeFreeSlot(message.slot), /*wait=*/false);
}

}  // namespace millrace::ingest
