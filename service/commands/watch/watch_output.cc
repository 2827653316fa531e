#include "service/commands/watch/watch_output.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
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
#include "service/frames/explained.h"
#include "service/terminal/terminal.h"
#include "service/wire/wire_status.h"

namespace millrace::service {
namespace {

using google::protobuf::util::TimeUtil;

// A camera of one frame in two seconds must not appear dead.
constexpr std::chrono::seconds kFresh(3);

double Milliseconds(const google::protobuf::Duration& duration) {
  return static_cast<double>(duration.seconds()) * 1e3 +
         static_cast<double>(duration.nanos()) / 1e6;
}

std::string ClassOf(const v1::Prediction& prediction) {
  const std::string& name = prediction.best_class_name();
  return name.empty() ? absl::StrCat(prediction.best_class()) : name;
}

/// Whether the event's cause is the learner's, not the source's.
bool IsOfLearner(const v1::StreamEvent& event) {
  if (event.kind() == v1::STREAM_EVENT_KIND_LEARNER_STATE) return true;
  return event.kind() == v1::STREAM_EVENT_KIND_EXISTS &&
         (event.learner_state() == v1::LEARNER_STATE_FAILED ||
          event.learner_state() == v1::LEARNER_STATE_WAITING_FOR_RANKS ||
          event.learner_state() == v1::LEARNER_STATE_GIVEN_UP);
}

/// "after_gap" for PREDICTION_FLAG_AFTER_GAP.
std::string NameOf(v1::PredictionFlag flag) {
  constexpr std::size_t kPrefix = std::string_view("PREDICTION_FLAG_").size();
  const std::string& name = v1::PredictionFlag_Name(flag);
  return name.size() > kPrefix ? absl::AsciiStrToLower(name.substr(kPrefix)) : absl::StrCat(flag);
}

/// A stream of labels has a loss only over labelled frames.
bool HasLoss(const v1::Prediction& prediction) {
  return !prediction.has_outputs() || prediction.labelled() > 0;
}

bool HasLossOfNoMotion(const v1::Prediction& prediction) { return prediction.loss_no_motion() > 0; }

nlohmann::ordered_json OrNull(bool is_there, float value) {
  return is_there ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

absl::Status WhyNotWritten(int error) {
  if (error == EPIPE) return absl::CancelledError("the reader is gone");
  if (error == 0) return absl::UnknownError("cannot be written");
  return absl::ErrnoToStatus(error, "cannot be written");
}

}  // namespace

std::string WatchLine(const v1::SubscribeResponse& response) {
  const v1::Prediction& prediction = response.prediction();
  std::string line = absl::StrFormat("%s  frame %d  delay %.0f ms (%d %s)", prediction.stream(),
                                     prediction.frame_number(), Milliseconds(prediction.delay()),
                                     prediction.delay_frames(),
                                     prediction.delay_frames() == 1 ? "frame" : "frames");
  if (prediction.has_best_class()) absl::StrAppend(&line, "  class ", ClassOf(prediction));
  if (HasLoss(prediction)) {
    absl::StrAppendFormat(&line, "  loss %.4f", prediction.loss());
  }
  if (HasLossOfNoMotion(prediction)) {
    absl::StrAppend(&line, ", ", ExplainedText(prediction.loss(), prediction.loss_no_motion()));
  }
  absl::StrAppend(&line, "  update ", prediction.update_count());
  if (response.dropped_total() > 0) {
    absl::StrAppend(&line, "  missed ", response.dropped_total());
  }
  return OnOneLine(std::move(line));
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
  // Replaces invalid UTF-8 instead of throwing; a NaN loss becomes null.
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

absl::Status SavePreview(const std::string& folder, const v1::SubscribeResponse& response) {
  const v1::Prediction& prediction = response.prediction();
  if (prediction.preview().empty()) return absl::OkStatus();
  std::error_code failed;  // The write below reports the error better.
  std::filesystem::create_directories(folder, failed);
  const std::string name =
      absl::StrFormat("%s-%09d.jpg", prediction.stream(), prediction.frame_number());
  return WriteFileAtomically((std::filesystem::path(folder) / name).string(), prediction.preview());
}

Hindrance Troubles::After(const v1::StreamEvent& event) {
  if (event.kind() == v1::STREAM_EVENT_KIND_DELETED) {
    causes_.erase(event.stream());
    return {.what = "deleted"};
  }
  Causes& causes = causes_[event.stream()];
  if (event.kind() != v1::STREAM_EVENT_KIND_OVERLOAD) {
    (IsOfLearner(event) ? causes.learner : causes.source) = event.cause();
  }
  v1::StreamStatus status;
  status.set_source_state(event.source_state());
  status.set_source_cause(causes.source);
  status.set_learner_state(event.learner_state());
  status.set_learner_cause(causes.learner);
  status.set_overload(event.overload());
  status.set_overload_cause(event.overload_cause());
  status.set_overload_remedy(event.overload_remedy());
  return HindranceOf(status);
}

bool WatchScreen::Show(const std::string& stream, const std::string& line) {
  const MutexLock lock(mu_);
  if (options_.terminal) {
    Shown& shown = shown_[stream];
    shown.line = line;
    shown.time = options_.clock->Now();
    Draw();
  } else {
    Write(absl::StrCat(line, "\n"));
  }
  return written_.ok();
}

void WatchScreen::End(const std::string& stream) {
  const MutexLock lock(mu_);
  shown_[stream].ended = true;
}

void WatchScreen::SetTrouble(const std::string& stream, Hindrance trouble) {
  const MutexLock lock(mu_);
  shown_[stream].trouble = std::move(trouble);
  Draw();
}

void WatchScreen::SetTroubleOfAll(const Hindrance& trouble) {
  const MutexLock lock(mu_);
  for (const std::string& stream : options_.streams) shown_[stream].trouble = trouble;
  Draw();
}

bool WatchScreen::Refresh() {
  const MutexLock lock(mu_);
  Draw();
  return written_.ok();
}

void WatchScreen::Print(std::ostream& other, const std::string& text) {
  const MutexLock lock(mu_);
  other << text << std::flush;
  drawn_ = 0;
}

absl::Status WatchScreen::written() const {
  const MutexLock lock(mu_);
  return written_;
}

// The last row is left to the cursor: a line feed there would scroll the other rows away.
void WatchScreen::Draw() {
  if (!options_.terminal) return;
  const ScreenSize size = options_.size();
  const std::vector<std::string>& streams = options_.streams;
  const std::size_t room = std::max<std::size_t>(size.rows, 2) - 1;
  const std::size_t shown = streams.size() <= room ? streams.size() : room - 1;
  const std::size_t more = streams.size() - shown;
  std::string text;
  if (drawn_ > 0) absl::StrAppend(&text, "\x1b[", std::min(drawn_, room), "A");
  for (std::size_t i = 0; i < shown; ++i) {
    const std::string line = LineOf(streams[i], shown_[streams[i]]);
    absl::StrAppend(&text, "\r", CutTo(line, size.columns), "\x1b[K\n");
  }
  if (more > 0) absl::StrAppend(&text, "\r... and ", more, " more\x1b[K\n");
  const std::size_t drawn = shown + (more > 0 ? 1 : 0);
  if (drawn < drawn_) text += "\x1b[J";  // The terminal has fewer rows than before.
  drawn_ = drawn;
  Write(text);
}

void WatchScreen::Write(const std::string& text) {
  if (!written_.ok()) return;
  errno = 0;
  out_ << text << std::flush;
  if (!out_) written_ = WhyNotWritten(errno);
}

// The most important text comes first: a narrow terminal cuts the rest.
std::string WatchScreen::LineOf(const std::string& stream, const Shown& shown) const {
  if (shown.ended && !shown.line.empty()) return shown.line;
  const nanoseconds age = options_.clock->Now() - shown.time;
  const bool troubled = !shown.trouble.what.empty();
  if (!troubled && age < kFresh && !shown.line.empty()) return shown.line;
  std::string line = absl::StrCat(stream, "  ", shown.trouble.what, troubled ? ", " : "");
  if (shown.line.empty()) {
    absl::StrAppend(&line, "no prediction yet");
  } else if (!shown.trouble.stops && age < kFresh) {
    absl::StrAppend(&line, shown.line.substr(std::min(stream.size() + 2, shown.line.size())));
  } else {
    const double seconds = std::chrono::duration<double>(age).count();
    absl::StrAppend(&line, "last prediction ", DurationText(seconds), " ago");
  }
  if (!shown.trouble.why.empty()) return OnOneLine(absl::StrCat(line, ": ", shown.trouble.why));
  if (troubled || shown.line.empty()) return line;
  return absl::StrCat(line, shown.line.substr(stream.size()));
}

}  // namespace millrace::service
