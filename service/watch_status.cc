#include "service/watch_status.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "nlohmann/json.hpp"
#include "service/terminal.h"
#include "service/wire_status.h"

namespace millrace::service {
namespace {

double Seconds(const google::protobuf::Duration& duration) {
  return static_cast<double>(duration.seconds()) + static_cast<double>(duration.nanos()) / 1e9;
}

/// "backing_off": as other values of JSON are written.
std::string AsValue(const std::string& words) { return absl::StrReplaceAll(words, {{" ", "_"}}); }

}  // namespace

std::string StatusLine(const v1::StreamStatus& status) {
  const Hindrance what = HindranceOf(status);
  std::string line = absl::StrCat(
      status.stream(), "  ", what.what, what.what.empty() ? "" : ", ",
      status.has_prediction_age()
          ? absl::StrCat("last prediction ", DurationText(Seconds(status.prediction_age())), " ago")
          : "no prediction yet");
  if (!what.why.empty()) absl::StrAppend(&line, ": ", what.why);
  return OnOneLine(std::move(line));
}

std::string StatusJson(const v1::StreamStatus& status) {
  nlohmann::ordered_json line = {
      {"stream", status.stream()},
      {"source_state", AsValue(WordsOf(status.source_state()))},
      {"source_cause", status.source_cause()},
      {"learner_state", AsValue(WordsOf(status.learner_state()))},
      {"learner_cause", status.learner_cause()},
      {"prediction_age_s", nullptr},
  };
  if (status.has_prediction_age()) line["prediction_age_s"] = Seconds(status.prediction_age());
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace millrace::service
