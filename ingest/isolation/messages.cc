#include "ingest/isolation/messages.h"

#include <glib.h>
#include <sys/wait.h>

#include <array>
#include <cmath>
#include <csignal>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace millrace::ingest {
namespace {

using std::chrono::nanoseconds;

constexpr std::int64_t kAbsent = std::numeric_limits<std::int64_t>::min();
/// Nine years of a stream. Several times this value still fits into an integer.
constexpr std::int64_t kMaxStreamTime = std::int64_t{1} << 58;
/// 73 years before or after 1970, which covers NTP's first era.
constexpr std::int64_t kMaxCameraTime = std::int64_t{1} << 61;
/// A camera's maximum side in pixels: GStreamer's own limit for decoding.
constexpr std::int64_t kMaxSide = 65535;
constexpr double kMaxRate = 1e6;
constexpr double kMaxAspect = 1e3;
constexpr int kMaxLogLevel = 5;

/// The fixed part of a message, before its text.
struct Head {
  std::uint32_t kind = 0;
  std::uint32_t text_bytes = 0;
  std::array<std::int64_t, 4> whole = {};
  std::array<double, 2> real = {};
};
static_assert(sizeof(Head) + kMaxTextBytes <= kMaxMessageBytes);
static_assert(std::is_trivially_copyable_v<Head>);

std::string Packed(Head head, std::string_view text = {}) {
  text = text.substr(0, kMaxTextBytes);
  head.text_bytes = static_cast<std::uint32_t>(text.size());
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof(head));
  return bytes.append(text);
}

std::int64_t CountOf(const std::optional<nanoseconds>& time) {
  return time ? time->count() : kAbsent;
}

struct Pack {
  std::uint32_t kind;

  std::string operator()(const CameraFormat& format) const {
    return Packed({.kind = kind,
                   .whole = {format.width, format.height},
                   .real = {format.frames_per_second, format.pixel_aspect}});
  }
  std::string operator()(const PictureInSlot& picture) const {
    return Packed({.kind = kind,
                   .whole = {picture.slot, CountOf(picture.stream_time), CountOf(picture.duration),
                             CountOf(picture.camera_time)}});
  }
  std::string operator()(const PipelineWarning& warning) const { return Of(warning.status); }
  std::string operator()(const PipelineOutcome& outcome) const { return Of(outcome.status); }
  std::string operator()(const PipelineCodec& codec) const {
    return Packed({.kind = kind}, codec.name);
  }
  std::string operator()(const LogLine& line) const {
    return Packed({.kind = kind, .whole = {line.level}}, line.text);
  }
  std::string operator()(const ProcessEnded& ended) const {
    return Packed({.kind = kind, .whole = {ended.wait_status, ended.fork_error}});
  }

 private:
  [[nodiscard]] std::string Of(const absl::Status& status) const {
    const absl::string_view text = status.message();
    return Packed({.kind = kind, .whole = {static_cast<std::int64_t>(status.code())}},
                  {text.data(), text.size()});
  }
};

absl::Status Wrong(std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("a message with ", std::string(what)));
}

std::string CleanText(std::string_view text) {
  const std::unique_ptr<gchar, void (*)(gpointer)> valid(
      g_utf8_make_valid(text.data(), static_cast<gssize>(text.size())), &g_free);
  std::string clean(valid.get());
  for (char& c : clean) {
    if (g_ascii_iscntrl(c) != FALSE) c = ' ';
  }
  return clean;
}

bool IsWithin(std::int64_t value, std::int64_t min, std::int64_t max) {
  return min <= value && value <= max;
}

absl::StatusOr<FromCamera> FormatOf(const Head& head) {
  const auto [width, height, unused, unused2] = head.whole;
  const auto [rate, aspect] = head.real;
  if (!IsWithin(width, 1, kMaxSide) || !IsWithin(height, 1, kMaxSide)) return Wrong("no size");
  if (!(rate >= 0 && rate <= kMaxRate)) return Wrong("no frame rate");
  if (!(aspect >= 1 / kMaxAspect && aspect <= kMaxAspect)) return Wrong("no shape of pixels");
  return CameraFormat{.width = static_cast<int>(width),
                      .height = static_cast<int>(height),
                      .frames_per_second = rate,
                      .pixel_aspect = aspect};
}

bool IsTime(std::int64_t count, std::int64_t min, std::int64_t max) {
  return count == kAbsent || IsWithin(count, min, max);
}

std::optional<nanoseconds> TimeOf(std::int64_t count) {
  return count == kAbsent ? std::nullopt : std::optional(nanoseconds(count));
}

absl::StatusOr<FromCamera> PictureOf(const Head& head, std::uint32_t slots) {
  const auto [slot, stream_time, duration, camera_time] = head.whole;
  if (!IsWithin(slot, 0, std::int64_t{slots} - 1)) return Wrong("a slot that does not exist");
  if (!IsTime(stream_time, 0, kMaxStreamTime) || !IsTime(duration, 0, kMaxStreamTime) ||
      !IsTime(camera_time, -kMaxCameraTime, kMaxCameraTime)) {
    return Wrong("a time that cannot be");
  }
  return PictureInSlot{.slot = static_cast<std::uint32_t>(slot),
                       .stream_time = TimeOf(stream_time),
                       .duration = TimeOf(duration),
                       .camera_time = TimeOf(camera_time)};
}

template <typename Message>
absl::StatusOr<FromCamera> StatusOf(const Head& head, std::string_view text) {
  const std::int64_t code = head.whole.front();
  if (!IsWithin(code, 0, static_cast<std::int64_t>(absl::StatusCode::kUnauthenticated))) {
    return Wrong("no status");
  }
  return Message{absl::Status(static_cast<absl::StatusCode>(code), CleanText(text))};
}

absl::StatusOr<FromCamera> EndOf(const Head& head) {
  const auto [wait_status, fork_error, unused, unused2] = head.whole;
  if (!IsWithin(wait_status, 0, 0xffff) || !IsWithin(fork_error, 0, 0xffff)) return Wrong("no end");
  return ProcessEnded{.wait_status = static_cast<int>(wait_status),
                      .fork_error = static_cast<int>(fork_error)};
}

absl::StatusOr<FromCamera> LineOf(const Head& head, std::string_view text) {
  if (!IsWithin(head.whole.front(), 0, kMaxLogLevel)) return Wrong("no level");
  return LogLine{.level = static_cast<int>(head.whole.front()), .text = CleanText(text)};
}

std::string WhatCodeSays(int exit_code) {
  switch (exit_code) {
    case kExitNotConfined:
      return "its process cannot be confined on this system; set source.isolate: false for it";
    case kExitThrew:
      return "its process failed, as when it gets no memory; give this machine more, or restart "
             "the "
             "camera";
    case kExitHung:
      return "its pipeline hangs in GStreamer; update or restart the camera";
    case kExitNoTask:
      return "its process gets no memory for pictures; give this machine more";
    default:
      return absl::StrCat("its process ended with code ", exit_code);
  }
}

/// The index of a message type in FromCamera.
template <typename T, std::size_t I = 0>
constexpr std::uint32_t KindOf() {
  if constexpr (std::is_same_v<T, std::variant_alternative_t<I, FromCamera>>) {
    return I;
  } else {
    return KindOf<T, I + 1>();
  }
}

}  // namespace

std::string Encode(const FromCamera& message) {
  return std::visit(Pack{static_cast<std::uint32_t>(message.index())}, message);
}

absl::StatusOr<FromCamera> Decode(std::string_view bytes, std::uint32_t slots) {
  Head head;
  if (bytes.size() < sizeof(head)) return Wrong("too few bytes");
  std::memcpy(&head, bytes.data(), sizeof(head));
  const std::string_view text = bytes.substr(sizeof(head));
  if (head.text_bytes != text.size() || text.size() > kMaxTextBytes) return Wrong("no end");
  switch (head.kind) {
    case KindOf<CameraFormat>():
      return FormatOf(head);
    case KindOf<PictureInSlot>():
      return PictureOf(head, slots);
    case KindOf<PipelineWarning>():
      return StatusOf<PipelineWarning>(head, text);
    case KindOf<PipelineOutcome>():
      return StatusOf<PipelineOutcome>(head, text);
    case KindOf<PipelineCodec>():
      return PipelineCodec{CleanText(text)};
    case KindOf<LogLine>():
      return LineOf(head, text);
    case KindOf<ProcessEnded>():
      return EndOf(head);
    default:
      return Wrong("no kind");
  }
}

std::string EncodeFreeSlot(std::uint32_t slot) {
  return {reinterpret_cast<const char*>(&slot), sizeof(slot)};
}

std::optional<std::uint32_t> DecodeFreeSlot(std::string_view bytes) {
  std::uint32_t slot = 0;
  if (bytes.size() != sizeof(slot)) return std::nullopt;
  std::memcpy(&slot, bytes.data(), sizeof(slot));
  return slot;
}

absl::Status WhyEnded(const ProcessEnded& ended) {
  if (ended.fork_error != 0) {
    return absl::UnavailableError(
        absl::StrCat("no process can be started for it: ", g_strerror(ended.fork_error)));
  }
  if (!WIFSIGNALED(ended.wait_status)) {
    return absl::UnavailableError(WhatCodeSays(WEXITSTATUS(ended.wait_status)));
  }
  const int signal = WTERMSIG(ended.wait_status);
  const char* const abbreviation = sigabbrev_np(signal);
  const std::string name =
      abbreviation == nullptr ? absl::StrCat("signal ", signal) : absl::StrCat("SIG", abbreviation);
  switch (signal) {
    case SIGSEGV:
    case SIGBUS:
    case SIGILL:
    case SIGFPE:
    case SIGSYS:
      return absl::UnavailableError(
          absl::StrCat("its process crashed (", name,
                       "), most likely over what the camera sent; update or restart the camera"));
    case SIGABRT:
    case SIGTRAP:
      return absl::UnavailableError(absl::StrCat(
          "its process gave up (", name,
          "), as when it wants more memory than it may have; update or restart the camera"));
    case SIGKILL:
      return absl::UnavailableError(absl::StrCat("its process was ended (", name,
                                                 "), as the system does when memory is short"));
    default:
      return absl::UnavailableError(absl::StrCat("its process was ended (", name, ")"));
  }
}

}  // namespace millrace::ingest
