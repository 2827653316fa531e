// What `millrace watch` makes of a prediction: a line to read, a line of JSON, a picture.
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

/// The same and more as an object of JSON on one line, for programs. Times are in RFC 3339; a loss
/// that there is none of is null.
[[nodiscard]] std::string WatchJson(const v1::SubscribeResponse& response);

/// Writes the preview as FOLDER/STREAM-FRAME.jpg, and makes the folder. Nothing if there is none.
/// Fails as WriteFileAtomically() does.
[[nodiscard]] absl::Status SavePreview(const std::string& folder,
                                       const v1::SubscribeResponse& response);

/// What is the matter with streams, by their events. An event tells the cause of what changed;
/// what matters most may be something else, whose cause came with an event before. For one thread.
class Troubles {
 public:
  /// Of the event's stream from then on. REQUIRES: events of a stream come in their order, from its
  /// first or a STREAM_EVENT_KIND_EXISTS on.
  [[nodiscard]] Hindrance After(const v1::StreamEvent& event);

 private:
  struct Causes {
    std::string source = {};
    std::string learner = {};
  };

  std::map<std::string, Causes> causes_;
};

/// Of a terminal.
struct ScreenSize {
  std::size_t columns = 0;
  std::size_t rows = 0;
};

/// Where lines of several streams go. On a terminal each stream has a line that is rewritten, as
/// far as there are rows for them, and says what is the matter where no prediction comes; elsewhere
/// each line is printed below the last, and nothing else. Thread-safe.
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
    /// How large the terminal is now.
    std::function<ScreenSize()> size = {};
    const Clock* clock = &MonotonicClock();
  };

  WatchScreen(std::ostream& out, Options options) : options_(std::move(options)), out_(out) {}

  [[nodiscard]] bool on_terminal() const { return options_.terminal; }

  /// A prediction of `stream` has come. False once `out` takes no more: then nothing else is worth
  /// showing.
  [[nodiscard]] bool Show(const std::string& stream, const std::string& line)
      ABSL_LOCKS_EXCLUDED(mu_);
  /// No more are wanted: its line stays as it is.
  void End(const std::string& stream) ABSL_LOCKS_EXCLUDED(mu_);

  void SetTrouble(const std::string& stream, Hindrance trouble) ABSL_LOCKS_EXCLUDED(mu_);
  void SetTroubleOfAll(const Hindrance& trouble) ABSL_LOCKS_EXCLUDED(mu_);
  /// Time has passed. False as of Show().
  [[nodiscard]] bool Refresh() ABSL_LOCKS_EXCLUDED(mu_);

  /// Writes `text` to `other`, which may be the same terminal: the lines go on below it.
  void Say(std::ostream& other, const std::string& text) ABSL_LOCKS_EXCLUDED(mu_);

  /// OK; CANCELLED: nobody reads `out` any more; or why else it takes no more.
  [[nodiscard]] absl::Status written() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Shown {
    /// Of the last prediction. Empty: there was none.
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
