// What `millrace watch` makes of a prediction: a line to read, a line of JSON, a picture.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "millrace/v1/prediction_service.pb.h"

namespace millrace::service {

/// "street  frame 812  delay 61 ms (1 frames)  loss 0.0331, 0.71 of no motion  update 811".
[[nodiscard]] std::string WatchLine(const v1::SubscribeResponse& response);

/// The same and more as an object of JSON on one line, for programs. Times are in RFC 3339; a loss
/// that there is none of is null.
[[nodiscard]] std::string WatchJson(const v1::SubscribeResponse& response);

/// Writes the preview as FOLDER/STREAM-FRAME.jpg, and makes the folder. Nothing if there is none.
/// Fails as WriteFileAtomically() does.
[[nodiscard]] absl::Status SavePreview(const std::string& folder,
                                       const v1::SubscribeResponse& response);

/// Of a terminal.
struct ScreenSize {
  std::size_t columns = 0;
  std::size_t rows = 0;
};

/// Where lines of several streams go. On a terminal each stream has a line that is rewritten, as
/// far as there are rows for them; elsewhere each line is printed below the last. Thread-safe.
class WatchScreen {
 public:
  /// `streams`: their order on a terminal.
  WatchScreen(std::ostream& out, bool terminal, std::vector<std::string> streams);

  /// False once `out` takes no more: then nothing else is worth showing.
  [[nodiscard]] bool Show(const std::string& stream, const std::string& line, ScreenSize size)
      ABSL_LOCKS_EXCLUDED(mu_);

  /// Writes `text` to `other`, which may be the same terminal: the lines go on below it.
  void Say(std::ostream& other, const std::string& text) ABSL_LOCKS_EXCLUDED(mu_);

  /// OK; CANCELLED: nobody reads `out` any more; or why else it takes no more.
  [[nodiscard]] absl::Status written() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  void Draw(ScreenSize size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const bool terminal_;
  const std::vector<std::string> streams_;

  mutable Mutex mu_;
  std::ostream& out_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, std::string> lines_ ABSL_GUARDED_BY(mu_);
  std::size_t drawn_ ABSL_GUARDED_BY(mu_) = 0;  // Lines above the cursor.
  absl::Status written_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
