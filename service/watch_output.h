// What `millrace watch` makes of a prediction: a line to read, a line of JSON, a picture.
#pragma once

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

/// The same and more as an object of JSON on one line, for programs. Times are in RFC 3339.
[[nodiscard]] std::string WatchJson(const v1::SubscribeResponse& response);

/// Writes the preview as FOLDER/STREAM-FRAME.jpg, and makes the folder. Nothing if there is none.
/// Fails as WriteFileAtomically() does.
[[nodiscard]] absl::Status SavePreview(const std::string& folder,
                                       const v1::SubscribeResponse& response);

/// Where lines of several streams go. On a terminal each stream has a line that is rewritten;
/// elsewhere each line is printed below the last. Thread-safe.
class WatchScreen {
 public:
  /// `streams`: their order on a terminal, `columns` wide.
  WatchScreen(std::ostream& out, bool terminal, std::vector<std::string> streams);

  void Show(const std::string& stream, const std::string& line, std::size_t columns)
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  const bool terminal_;
  const std::vector<std::string> streams_;

  Mutex mu_;
  std::ostream& out_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, std::string> lines_ ABSL_GUARDED_BY(mu_);
  bool drawn_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace millrace::service
