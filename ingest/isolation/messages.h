// What a camera's process says to the server, one message a packet of a socket.
//
//   server                                camera's process
//     │ ── its task, the memory of slots ──▶ │
//     │ ◀── format, warning, codec, log ──── │
//     │ ◀── a picture is in slot 1 ───────── │   waits while no slot is free
//     │ ── slot 1 is free ─────────────────▶ │
//     │ ◀── outcome ──────────────────────── │
//     │ ── (no more to be written) ────────▶ │   ends in good order
//     │ ◀── how it ended, of the spawner ─── │
//
// The process decodes what others send, so the server believes nothing that it says: each message
// is judged here before anything is done with it.
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

/// A text is cut to as many bytes by who writes it; a message with a longer one is refused.
inline constexpr std::size_t kMostTextBytes = 4096;
/// No message is longer.
inline constexpr std::size_t kMostMessageBytes = kMostTextBytes + 128;

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
  absl::Status status;  ///< OK at the stream's end.
};
struct PipelineCodec {
  std::string name;
};
struct LogLine {
  int level = 0;  ///< As spdlog numbers them.
  std::string text;
};
/// Exit codes of a process: it could not be confined; it ended by an exception; it was told to end,
/// and its pipeline hangs; there was nothing to do for it.
inline constexpr int kExitNotConfined = 70;
inline constexpr int kExitThrew = 71;
inline constexpr int kExitHung = 72;
inline constexpr int kExitNoTask = 73;
/// Of the spawner, last of all.
struct ProcessEnded {
  int wait_status = 0;  ///< As waitpid() has it.
  int fork_error = 0;   ///< Above 0: there was no process, and this is why.
};
using FromCamera = std::variant<CameraFormat, PictureInSlot, PipelineWarning, PipelineOutcome,
                                PipelineCodec, LogLine, ProcessEnded>;

[[nodiscard]] std::string Encode(const FromCamera& message);

/// INVALID_ARGUMENT, saying what is wrong, unless `bytes` are a message whose numbers are within
/// what a camera may have. Texts come back as UTF-8 without control characters. `slots`: how many
/// there are.
[[nodiscard]] absl::StatusOr<FromCamera> Decode(std::string_view bytes, std::uint32_t slots);

/// "Slot is free": the server's only words after the task.
[[nodiscard]] std::string EncodeFreeSlot(std::uint32_t slot);
/// Nothing where it is none.
[[nodiscard]] std::optional<std::uint32_t> DecodeFreeSlot(std::string_view bytes);

/// Why a camera's process has ended that was not told to: UNAVAILABLE, in words.
[[nodiscard]] absl::Status WhyEnded(const ProcessEnded& ended);

}  // namespace millrace::ingest
