// A source of frames, opened by its URI: a file, a camera, a push entry, or GStreamer's test
// picture.
//
// All sources have one small interface. Their differences (a camera reconnects without limit, a
// file ends or loops) are behind it. Their common parts (decode, scale, clocks, epochs) exist once.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ingest/frame/frame.h"
#include "ingest/frame/frame_queue.h"
#include "ingest/source/push_entry.h"

namespace millrace::ingest {

/// The transport of an RTSP camera's packets. kUdp loses packets in a bad network. kAuto uses UDP
/// if it works, else TCP. An RTSPS camera always uses TCP.
enum class Transport { kTcp, kUdp, kAuto };

/// The decoder of a camera's or a file's video, not of its sound. kAuto uses hardware if there is
/// any. `test:` has no decoder.
enum class HardwareDecode { kAuto, kRequire, kOff };

/// The login for an RTSP camera whose URI lacks it. The password is in a file (without a line break
/// at its end) or in an environment variable, and is read at each connection. If it is missing when
/// the source is opened, opening fails, because the name is probably wrong. If it is missing later,
/// the connection fails, and the next one reads it again.
struct Login {
  std::string user = {};
  std::string password_file = {};
  std::string password_variable = {};
};

/// The check of an RTSPS camera's certificate.
struct Tls {
  /// The PEM file of the trusted certificates; empty: the certificates that this machine trusts. A
  /// missing file has the same effect as a missing password.
  std::string ca_file = {};
  /// False: accepts any certificate, even an attacker's.
  bool verify = true;
};

/// How a camera is connected, and reconnected after a loss.
struct CameraOptions {
  Transport transport = Transport::kTcp;
  /// The wait for packets that arrive out of order. It delays all pictures.
  std::chrono::milliseconds latency{100};
  Login login = {};
  Tls tls = {};
  /// Decodes its video in a separate process if one can be started (new_pipeline.h).
  bool isolate = false;
  /// As in SessionLimits (session_machine.h).
  std::chrono::milliseconds connect_timeout{8000};
  std::chrono::milliseconds stall_timeout{2000};
  /// As in BackoffOptions (backoff.h).
  std::chrono::milliseconds first_backoff{200};
  std::chrono::milliseconds max_backoff{2000};
};

/// The state of a source. `kStalled`: frames have stopped, but no failure has occurred yet.
/// `kWaiting`: no client pushes to a `push:` source, which is no fault.
enum class SourceState {
  kConnecting,
  kStreaming,
  kStalled,
  kBackingOff,
  kEnded,
  kFailed,
  kStopped,
  kWaiting
};
inline constexpr std::array kSourceStates = {SourceState::kConnecting, SourceState::kStreaming,
                                             SourceState::kStalled,    SourceState::kBackingOff,
                                             SourceState::kEnded,      SourceState::kFailed,
                                             SourceState::kStopped,    SourceState::kWaiting};

struct SourceOptions {
  /// A path, `file:PATH`, `rtsp://HOST...` (or `rtsps:`), `v4l2:DEVICE`, `push:`, or `test:`
  /// (`test:ball`: any pattern of videotestsrc). A path may name a folder of images or a pattern of
  /// their names.
  std::string uri;
  /// Size of the delivered pictures, in pixels.
  int width = 320;
  int height = 240;
  /// A file: start again at its end, in a new epoch.
  bool loop = false;
  /// A file: behave as a camera, in the pace of its timestamps, without a wait for the learner.
  /// `push:`: no wait for the learner.
  bool as_camera = false;
  /// `test:` only: frames per second.
  int test_frames_per_second = 30;
  /// A folder of images only: images per second. 0: 30.
  double images_per_second = 0;
  /// Frames that may wait for the learner.
  int queue_capacity = 2;
  /// The action for a frame when the queue is full. Absent: kWait if CanWait(), else kDropOldest.
  std::optional<WhenFull> when_full = {};
  /// The maximum of frames per second: further pictures are skipped before numbering. 0: no limit.
  double max_frames_per_second = 0;
  HardwareDecode hardware_decode = HardwareDecode::kAuto;
  CameraOptions camera = {};
  /// The camera stream in the log lines. May be empty.
  std::string stream = {};
  /// Called with each new state and its cause, on threads of the source. It must return quickly.
  /// May be empty.
  std::function<void(SourceState, const absl::Status& cause)> on_state = {};
  /// Cancels the opening: OpenSource() then fails with CANCELLED. An open source ends by Stop().
  std::stop_token stop = {};
};

/// The number of times that each state was entered.
using SourceStateCounts = std::array<std::int64_t, kSourceStates.size()>;

[[nodiscard]] std::string_view Name(SourceState state);

/// Whether frames have stopped in this state but may come again.
[[nodiscard]] bool IsAway(SourceState state);

/// A consistent snapshot of a source.
struct SourceStatus {
  SourceState state = SourceState::kConnecting;
  /// The cause of waiting, stalling, backing off or failing, otherwise OK. During a camera's
  /// retries it is the cause of the loss. Contains the URI without credentials.
  absl::Status cause;
  /// The number of times that each state was entered.
  SourceStateCounts entered = {};
  std::int64_t epoch = 0;
  /// Sessions after the first one (cameras only).
  std::int64_t reconnects = 0;
  /// Changes of the camera's picture size.
  std::int64_t size_changes = 0;
  /// Pictures skipped because of SourceOptions::max_frames_per_second.
  std::int64_t skipped = 0;
  /// The camera's own picture size and rate, skipped pictures included; 0 until known.
  int camera_width = 0;
  int camera_height = 0;
  double camera_frames_per_second = 0;
};

/// A running source. It pushes frames to its queue from its own threads. It closes the queue at the
/// end of a file, at a failure that no retry can fix, or at Stop(). Thread-safe.
class Source {
 public:
  virtual ~Source() = default;

  /// The queue of its frames. Valid during the source's lifetime.
  [[nodiscard]] virtual FrameQueue& queue() = 0;
  [[nodiscard]] virtual SourceStatus status() const = 0;
  /// Closes the queue and ends the source. Takes at most a second if a camera hangs, and a little
  /// over two seconds if GStreamer hangs (twice that for a looped file; abandoned_pipelines.h).
  /// Idempotent.
  virtual void Stop() = 0;
  /// The entry for pushed frames; null unless the URI is `push:`.
  [[nodiscard]] virtual std::shared_ptr<PushEntry> push_entry() { return nullptr; }
};

/// `uri` with its user and password replaced: `rtsp://***@camera/1`.
[[nodiscard]] std::string WithoutCredentials(std::string_view uri);

/// Whether two openings of this source may show different frames: a camera, the test picture,
/// pushed frames, or a file that behaves as a camera.
[[nodiscard]] bool IsLive(const SourceOptions& options);

/// Whether its frames wait for the learner: frames of files and pushed frames, unless the source
/// behaves as a camera.
[[nodiscard]] bool CanWait(const SourceOptions& options);

/// SourceOptions::when_full, or its default if it is absent.
[[nodiscard]] WhenFull WhenFullOf(const SourceOptions& options);

}  // namespace millrace::ingest
