// Outputs of `millrace watch` for a prediction: a line of text, a line of JSON, a picture.
#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "millrace/v1/prediction_service.pb.h"
#include "millrace/v1/stream_service.pb.h"
#include "service/wire/wire_status.h"

namespace millrace::service {

/// "street  frame 812  delay 61 ms (1 frames)  loss 0.0331, explains 29 % of the motion  update
/// 811".
[[nodiscard]] std::string WatchLine(const v1::SubscribeResponse& response);

/// The same and more as a JSON object on one line, for programs. Times are in RFC 3339; a missing
/// loss is null.
[[nodiscard]] std::string WatchJson(const v1::SubscribeResponse& response);

/// Writes the preview as FOLDER/STREAM-FRAME.jpg, and creates the folder. Does nothing without a
/// preview. Fails as WriteFileAtomically() does.
[[nodiscard]] absl::Status SavePreview(const std::string& folder,
                                       const v1::SubscribeResponse& response);

/// Tracks the most important problem of each stream, by its events. An event has the cause of its
/// own change. The most important problem may be another one, whose cause came with an earlier
/// event. For one thread.
class Troubles {
 public:
  /// The problem of the event's stream after the event. REQUIRES: the events of a stream come in
  /// order, starting with its first event or a STREAM_EVENT_KIND_EXISTS.
  [[nodiscard]] Hindrance After(const v1::StreamEvent& event);

 private:
  struct Causes {
    std::string source = {};
    std::string learner = {};
  };

  std::map<std::string, Causes> causes_;
};

/// The terminal's size.
struct ScreenSize {
  std::size_t columns = 0;
  std::size_t rows = 0;
};

/// The output for lines of several streams. On a terminal each stream has one line that is
/// rewritten, if there are enough rows; the line shows the problem if no prediction comes.
/// Elsewhere each line is printed below the last. Thread-safe.
///
///   gate  frame 812  delay 61 ms (1 frames)  loss 0.0331, explains 29 % of the motion  update 811
///   yard  source backing off, last prediction 14 s ago: rtsp://yard/1: no frame within 2 s
///   door  drops 20.9 of 25.0 frames a second, frame 97  delay 240 ms ...: with source.max_fps: 3.2
class WatchScreen {
 public:
  struct Options {
    bool terminal = false;
    /// Their order on a terminal.
    std::vector<std::string> streams = {};
    /// Returns the terminal's current size.
    std::function<ScreenSize()> size = {};
    const Clock* clock = &MonotonicClock();
  };

  WatchScreen(std::ostream& out, Options options) : options_(std::move(options)), out_(out) {}

  [[nodiscard]] bool on_terminal() const { return options_.terminal; }

  /// Shows a prediction of `stream`. Returns false once `out` accepts no more output; callers
  /// should then stop.
  [[nodiscard]] bool Show(const std::string& stream, const std::string& line)
      ABSL_LOCKS_EXCLUDED(mu_);
  /// No more predictions will be shown for `stream`: its line stays as it is.
  void End(const std::string& stream) ABSL_LOCKS_EXCLUDED(mu_);

  void SetTrouble(const std::string& stream, Hindrance trouble) ABSL_LOCKS_EXCLUDED(mu_);
  void SetTroubleOfAll(const Hindrance& trouble) ABSL_LOCKS_EXCLUDED(mu_);
  /// Redraws, so that ages grow. Returns as Show().
  [[nodiscard]] bool Refresh() ABSL_LOCKS_EXCLUDED(mu_);

  /// Writes `text` to `other`, which may be the same terminal: the lines continue below it.
  void Print(std::ostream& other, const std::string& text) ABSL_LOCKS_EXCLUDED(mu_);

  /// OK, CANCELLED if the reader of `out` has closed it, or another reason why `out` fails.
  [[nodiscard]] absl::Status written() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Shown {
    /// The last prediction's line; empty: no prediction yet.
    std::string line = {};
    nanoseconds time{0};
    Hindrance trouble = {};
    bool ended = false;
  };

  void Draw() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Write(const std::string& text) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  [[nodiscard]] std::string LineOf(const std::string& stream, const Shown& shown) const;

  const Options options_;

  mutable Mutex mu_;
  std::ostream& out_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, Shown> shown_ ABSL_GUARDED_BY(mu_);
  std::size_t drawn_ ABSL_GUARDED_BY(mu_) = 0;  // Lines above the cursor.
  absl::Status written_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
