#include "service/watch_output.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <ostream>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/atomic_file.h"
#include "google/protobuf/util/time_util.h"
#include "nlohmann/json.hpp"
#include "service/terminal.h"

namespace millrace::service {
namespace {

using google::protobuf::util::TimeUtil;

double Milliseconds(const google::protobuf::Duration& duration) {
  return static_cast<double>(duration.seconds()) * 1e3 +
         static_cast<double>(duration.nanos()) / 1e6;
}

std::string ClassOf(const v1::Prediction& prediction) {
  const std::string& name = prediction.best_class_name();
  return name.empty() ? absl::StrCat(prediction.best_class()) : name;
}

/// "after_gap" of PREDICTION_FLAG_AFTER_GAP.
std::string NameOf(v1::PredictionFlag flag) {
  constexpr std::size_t kPrefix = std::string_view("PREDICTION_FLAG_").size();
  const std::string& name = v1::PredictionFlag_Name(flag);
  return name.size() > kPrefix ? absl::AsciiStrToLower(name.substr(kPrefix)) : absl::StrCat(flag);
}

/// Where it learns from labels, of the frames that had one.
bool HasLoss(const v1::Prediction& prediction) {
  return !prediction.has_outputs() || prediction.labelled() > 0;
}

bool HasLossOfNoMotion(const v1::Prediction& prediction) { return prediction.loss_no_motion() > 0; }

nlohmann::ordered_json OrNull(bool is_there, float value) {
  return is_there ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

absl::Status WhyNotWritten(int error) {
  if (error == EPIPE) return absl::CancelledError("nobody reads any more");
  if (error == 0) return absl::UnknownError("cannot be written");
  return absl::ErrnoToStatus(error, "cannot be written");
}

}  // namespace

std::string WatchLine(const v1::SubscribeResponse& response) {
  const v1::Prediction& prediction = response.prediction();
  std::string line = absl::StrFormat("%s  frame %d  delay %.0f ms (%d frames)", prediction.stream(),
                                     prediction.frame_number(), Milliseconds(prediction.delay()),
                                     prediction.delay_frames());
  if (prediction.has_best_class()) absl::StrAppend(&line, "  class ", ClassOf(prediction));
  if (HasLoss(prediction)) {
    absl::StrAppendFormat(&line, "  loss %.4f", prediction.loss());
  }
  if (HasLossOfNoMotion(prediction)) {
    absl::StrAppendFormat(&line, ", %.2f of no motion",
                          prediction.loss() / prediction.loss_no_motion());
  }
  absl::StrAppend(&line, "  update ", prediction.update_count());
  if (response.dropped_total() > 0) {
    absl::StrAppend(&line, "  missed ", response.dropped_total());
  }
  return line;
}

std::string WatchJson(const v1::SubscribeResponse& response) {
  const v1::Prediction& prediction = response.prediction();
  nlohmann::ordered_json line = {
      {"stream", prediction.stream()},
      {"frame_number", prediction.frame_number()},
      {"epoch", prediction.epoch()},
      {"arrival_time", TimeUtil::ToString(prediction.arrival_time())},
      {"emission_time", TimeUtil::ToString(prediction.emission_time())},
      {"delay_ms", Milliseconds(prediction.delay())},
      {"delay_frames", prediction.delay_frames()},
      {"loss", OrNull(HasLoss(prediction), prediction.loss())},
      {"loss_no_motion", OrNull(HasLossOfNoMotion(prediction), prediction.loss_no_motion())},
      {"learned_from", prediction.learned_from()},
      {"update_count", prediction.update_count()},
      {"missed", response.dropped_total()},
      {"flags", nlohmann::ordered_json::array()},
  };
  for (const int flag : prediction.flags()) {
    line["flags"].push_back(NameOf(static_cast<v1::PredictionFlag>(flag)));
  }
  if (prediction.has_best_class()) line["class"] = ClassOf(prediction);
  // What is no UTF-8 is replaced, not thrown at; a loss that is no number is null.
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

absl::Status SavePreview(const std::string& folder, const v1::SubscribeResponse& response) {
  const v1::Prediction& prediction = response.prediction();
  if (prediction.preview().empty()) return absl::OkStatus();
  std::error_code failed;  // Writing says it better.
  std::filesystem::create_directories(folder, failed);
  const std::string name =
      absl::StrFormat("%s-%09d.jpg", prediction.stream(), prediction.frame_number());
  return WriteFileAtomically((std::filesystem::path(folder) / name).string(), prediction.preview());
}

WatchScreen::WatchScreen(std::ostream& out, bool terminal, std::vector<std::string> streams)
    : terminal_(terminal), streams_(std::move(streams)), out_(out) {}

bool WatchScreen::Show(const std::string& stream, const std::string& line, ScreenSize size) {
  const MutexLock lock(mu_);
  if (!written_.ok()) return false;
  errno = 0;
  if (terminal_) {
    lines_[stream] = line;
    Draw(size);
  } else {
    out_ << line << '\n';
  }
  out_ << std::flush;
  if (!out_) written_ = WhyNotWritten(errno);
  return written_.ok();
}

// The last row is the cursor's: a line feed there would scroll all others away.
void WatchScreen::Draw(ScreenSize size) {
  const std::size_t room = std::max<std::size_t>(size.rows, 2) - 1;
  const std::size_t shown = streams_.size() <= room ? streams_.size() : room - 1;
  if (drawn_ > 0) out_ << "\x1b[" << std::min(drawn_, room) << 'A';
  for (std::size_t i = 0; i < shown; ++i) {
    const auto found = lines_.find(streams_[i]);
    const std::string text =
        found == lines_.end() ? streams_[i] + "  no prediction yet" : found->second;
    out_ << '\r' << CutTo(text, size.columns) << "\x1b[K\n";
  }
  const std::size_t more = streams_.size() - shown;
  if (more > 0) out_ << "\r... and " << more << " more\x1b[K\n";
  const std::size_t drawn = shown + (more > 0 ? 1 : 0);
  if (drawn < drawn_) out_ << "\x1b[J";  // The terminal has fewer rows than before.
  drawn_ = drawn;
}

void WatchScreen::Say(std::ostream& other, const std::string& text) {
  const MutexLock lock(mu_);
  other << text << std::flush;
  drawn_ = 0;
}

absl::Status WatchScreen::written() const {
  const MutexLock lock(mu_);
  return written_;
}

}  // namespace millrace::service
