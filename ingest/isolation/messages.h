// Messages of a camera's process to the server, one in each packet of a socket.
//
//   server                                camera's process
//     │ ── its task, the memory of slots ──▶ │
//     │ ◀── format, warning, codec, log ──── │
//     │ ◀── a picture is in slot 1 ───────── │   waits while no slot is free
//     │ ── slot 1 is free ─────────────────▶ │
//     │ ◀── outcome ──────────────────────── │
//     │ ── (end of writing) ───────────────▶ │   ends normally
//     │ ◀── exit status, from the spawner ── │
//
// The process decodes untrusted data, so the server does not trust its messages. Decode() validates
// each message before the server uses it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ingest/source/picture_pipeline.h"

namespace millrace::ingest {

/// The sender cuts a text to this length; the receiver refuses a message with a longer one.
inline constexpr std::size_t kMaxTextBytes = 4096;
/// The maximum length of a message.
inline constexpr std::size_t kMaxMessageBytes = kMaxTextBytes + 128;

struct PictureInSlot {
  std::uint32_t slot = 0;
  /// As in DecodedPicture.
  std::optional<std::chrono::nanoseconds> stream_time = {};
  std::optional<std::chrono::nanoseconds> duration = {};
  std::optional<std::chrono::nanoseconds> camera_time = {};
};
struct PipelineWarning {
  absl::Status status;
};
struct PipelineOutcome {
  absl::Status status;  ///< OK at the end of the stream.
};
struct PipelineCodec {
  std::string name;
};
struct LogLine {
  int level = 0;  ///< A spdlog level.
  std::string text;
};
/// Exit codes of a process, in this order. Its confinement failed, an exception ended it, its
/// pipeline hung at the end, or it received no valid task.
inline constexpr int kExitNotConfined = 70;
inline constexpr int kExitThrew = 71;
inline constexpr int kExitHung = 72;
inline constexpr int kExitNoTask = 73;
/// The last message of all, from the spawner.
struct ProcessEnded {
  int wait_status = 0;  ///< The status from waitpid().
  int fork_error = 0;   ///< Above 0: the errno of a failed fork().
};
using FromCamera = std::variant<CameraFormat, PictureInSlot, PipelineWarning, PipelineOutcome,
                                PipelineCodec, LogLine, ProcessEnded>;

[[nodiscard]] std::string Encode(const FromCamera& message);

/// INVALID_ARGUMENT with the cause unless `bytes` is a valid message with plausible numbers. Texts
/// are returned as UTF-8 without control characters. `slots` is the number of slots.
[[nodiscard]] absl::StatusOr<FromCamera> Decode(std::string_view bytes, std::uint32_t slots);

/// "Slot is free": the server's only message after the task.
[[nodiscard]] std::string EncodeFreeSlot(std::uint32_t slot);
/// nullopt if `bytes` is not such a message.
[[nodiscard]] std::optional<std::uint32_t> DecodeFreeSlot(std::string_view bytes);

/// The cause of an unrequested end of a camera's process: UNAVAILABLE, in words.
[[nodiscard]] absl::Status WhyEnded(const ProcessEnded& ended);

}  // namespace millrace::ingest
