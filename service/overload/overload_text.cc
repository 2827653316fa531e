#include "service/overload/overload_text.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace millrace::service {

namespace {

std::string DescribeLink(const std::optional<LinkLoad>& limit) {
  if (!limit) return "";
  return absl::StrFormat(
      ": the network is too slow, as rank %d sends to rank %d for %.0f %% of the time", limit->from,
      limit->to, 100 * std::min(limit->share, 1.0));
}

std::string DescribeKind(const Overload& overload) {
  switch (overload.kind) {
    case OverloadKind::kNone:
      return "";
    case OverloadKind::kLearnsLess:
      return absl::StrCat("learns from one frame in ", overload.update_every);
    case OverloadKind::kOnlyPredicts:
      return "only predicts";
    case OverloadKind::kDrops:
      return absl::StrFormat("drops %.1f of %.1f frames a second", overload.dropped_per_second,
                             overload.received_per_second);
  }
  return "";
}

}  // namespace

std::string DescribeOverload(const Overload& overload) {
  const std::string kind = DescribeKind(overload);
  return kind.empty() ? "" : absl::StrCat(kind, DescribeLink(overload.limiting_link));
}

std::string DescribeRemedies(const Overload& overload) {
  const Remedies& remedies = overload.remedies;
  std::vector<std::string> values;
  if (overload.kind == OverloadKind::kNone) return "";
  if (remedies.max_fps > 0) {
    values.push_back(absl::StrFormat("source.max_fps: %.4g", remedies.max_fps));
  }
  if (remedies.width > 0) {
    values.push_back(absl::StrCat("model.input: [", remedies.width, ", ", remedies.height, "]"));
  }
  if (remedies.stages > 0) {
    values.push_back(absl::StrCat("schedule: {kind: auto, stages: ", remedies.stages, "}"));
  }
  if (values.empty()) return "";
  return absl::StrCat("every frame is predicted and learned from with ",
                      values.size() > 1 ? "one of: " : "", absl::StrJoin(values, "; "));
}

std::string DescribeBrokenPromise(const Promise& promise, double predictions_per_second,
                                  double delay_s) {
  if (promise.rate_kept && promise.delay_kept) return "";
  return absl::StrFormat(
      "promised %.1f predictions a second after %.0f ms, measured %.1f after %.0f ms",
      promise.frames_per_second, 1e3 * promise.delay_s, predictions_per_second, 1e3 * delay_s);
}

}  // namespace millrace::service
