// A source of frames, opened by URI: a file, an RTSP camera, or GStreamer's test picture.
//
// One small interface for all of them. What differs (a camera reconnects for ever, a file ends or
// loops) lives behind it; what is the same (decode, scale, clocks, epochs) is written once.
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

/// How an RTSP camera's packets travel, but those of an RTSPS camera, which take TCP: kUdp loses
/// some where the network is bad, kAuto takes it where it works and TCP where not.
enum class Transport { kTcp, kUdp, kAuto };

/// What decodes a camera's or a file's video, not its sound: kAuto takes hardware where there is
/// some. Nothing is decoded of `test:`.
enum class HardwareDecode { kAuto, kRequire, kOff };

/// Who asks an RTSP camera for its pictures, where its URI does not say. The password is in a file
/// (a line break at its end does not count) or in an environment variable, and is read anew for
/// each connection. Where there is none when the source is opened, that is most probably a typo,
/// and refused; later it is why a connection fails, and the next one looks again.
struct Login {
  std::string user = {};
  std::string password_file = {};
  std::string password_variable = {};
};

/// How the certificate of an RTSPS camera is judged.
struct Tls {
  /// In PEM, whose certificates are trusted; empty: those that this machine trusts. Missing, it is
  /// judged as a password is.
  std::string ca_file = {};
  /// False: any certificate will do, an attacker's, too.
  bool verify = true;
};

/// How a camera is held on to.
struct CameraOptions {
  Transport transport = Transport::kTcp;
  /// For how long packets that come out of order are waited for: all pictures are late by as much.
  std::chrono::milliseconds latency{100};
  Login login = {};
  Tls tls = {};
  /// Its video is decoded in a process of its own, where one can be started (new_pipeline.h).
  bool isolate = false;
  /// As in SessionLimits (session_machine.h).
  std::chrono::milliseconds connect_timeout{8000};
  std::chrono::milliseconds stall_timeout{2000};
  /// As in BackoffOptions (backoff.h).
  std::chrono::milliseconds first_backoff{200};
  std::chrono::milliseconds longest_backoff{2000};
};

/// What a source is doing: `kStalled`, frames stay away, though nothing has failed yet; `kWaiting`,
/// of `push:`, no client pushes any, which is nobody's fault.
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
  /// (`test:ball`: any pattern of videotestsrc). A path may be that of a folder of images, or a
  /// pattern of their names.
  std::string uri;
  /// Size of the delivered pictures, in pixels.
  int width = 320;
  int height = 240;
  /// A file: start again at its end, in a new epoch.
  bool loop = false;
  /// A file: behave as a camera, paced by its own timestamps, never waiting for the learner. Of
  /// `push:`, never waiting for the learner.
  bool as_camera = false;
  /// `test:` only: frames a second.
  int test_frames_per_second = 30;
  /// A folder of images only: how many make a second. 0: 30.
  double images_per_second = 0;
  /// Frames that may wait for the learner.
  int queue_capacity = 2;
  /// What happens to frames that find no room. Absent: kWait where CanWait(), else kDropOldest.
  std::optional<WhenFull> when_full = {};
  /// So many frames a second at most: others are skipped before they are numbered. 0: all.
  double max_frames_per_second = 0;
  HardwareDecode hardware_decode = HardwareDecode::kAuto;
  CameraOptions camera = {};
  /// The camera stream that the log's lines are about. May be empty.
  std::string stream = {};
  /// Told of each state that the source comes into, and why, from threads of the source: it must be
  /// quick. May be empty.
  std::function<void(SourceState, const absl::Status& cause)> on_state = {};
  /// Gives up opening: OpenSource() then fails with CANCELLED. A source that is open ends by
  /// Stop().
  std::stop_token stop = {};
};

/// How often something was, for each state.
using SourceStateCounts = std::array<std::int64_t, kSourceStates.size()>;

[[nodiscard]] std::string_view Name(SourceState state);

/// Whether frames stay away in that state, but may come yet.
[[nodiscard]] bool IsAway(SourceState state);

/// A consistent picture of a source at one moment.
struct SourceStatus {
  SourceState state = SourceState::kConnecting;
  /// Why it is waiting, stalled, backing off or failed, and, while a camera is tried again, why it
  /// was lost; OK otherwise. Names the URI, without credentials.
  absl::Status cause;
  /// How often it has come into each state.
  SourceStateCounts entered = {};
  std::int64_t epoch = 0;
  /// Sessions begun after the first (cameras only).
  std::int64_t reconnects = 0;
  /// Times that the camera's pictures became another size.
  std::int64_t size_changes = 0;
  /// Pictures that SourceOptions::max_frames_per_second left out.
  std::int64_t skipped = 0;
  /// The camera's own picture size and rate, whatever is skipped; 0 until known.
  int camera_width = 0;
  int camera_height = 0;
  double camera_frames_per_second = 0;
};

/// A running source. It pushes frames to its queue from threads of its own, and closes the queue
/// when it ends for good: a file at its end, a failure that no retry can mend, or Stop().
/// Thread-safe.
class Source {
 public:
  virtual ~Source() = default;

  /// Where the frames come out. Lives as long as the source.
  [[nodiscard]] virtual FrameQueue& queue() = 0;
  [[nodiscard]] virtual SourceStatus status() const = 0;
  /// Closes its queue and ends the source: within a second when a camera hangs, within two and a
  /// bit when GStreamer does (twice that for a looped file; abandoned_pipelines.h). Idempotent.
  virtual void Stop() = 0;
  /// Where its frames are pushed; null unless its URI is `push:`.
  [[nodiscard]] virtual std::shared_ptr<PushEntry> push_entry() { return nullptr; }
};

/// `uri` with its user and password replaced: `rtsp://***@camera/1`.
[[nodiscard]] std::string WithoutCredentials(std::string_view uri);

/// Whether this source does not show the same frames to whoever opens it: a camera, the test
/// picture, what is pushed, or a file told to behave as a camera.
[[nodiscard]] bool IsLive(const SourceOptions& options);

/// Whether its frames wait for the learner: those of files, and pushed ones, unless they are told
/// to behave as a camera's.
[[nodiscard]] bool CanWait(const SourceOptions& options);

/// SourceOptions::when_full, or what it is where that is absent.
[[nodiscard]] WhenFull WhenFullOf(const SourceOptions& options);

}  // namespace millrace::ingest
