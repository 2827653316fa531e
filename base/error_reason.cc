#include "base/error_reason.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/check.h"

namespace millrace::service {
namespace {

constexpr char kReason[] = "millrace/reason";
constexpr char kValues[] = "millrace/values";
constexpr char kFields[] = "millrace/fields";

// Client text may contain these bytes. WithoutSeparators() replaces them by spaces.
constexpr char kBetweenPairs = '\x1e';
constexpr char kInsidePair = '\x1f';

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string WithoutSeparators(std::string text) {
  std::replace(text.begin(), text.end(), kBetweenPairs, ' ');
  std::replace(text.begin(), text.end(), kInsidePair, ' ');
  return text;
}

void SetPairs(const char* payload, const Pairs& pairs, absl::Status& status) {
  const std::string inside(1, kInsidePair);
  const auto append = [&](std::string* text, const Pairs::value_type& pair) {
    absl::StrAppend(text, WithoutSeparators(pair.first), inside, WithoutSeparators(pair.second));
  };
  status.SetPayload(payload,
                    absl::Cord(absl::StrJoin(pairs, std::string(1, kBetweenPairs), append)));
}

Pairs PairsOf(const char* payload, const absl::Status& status) {
  const absl::optional<absl::Cord> text = status.GetPayload(payload);
  Pairs pairs;
  if (!text.has_value() || text->empty()) return pairs;
  for (const std::string& pair :
       std::vector<std::string>(absl::StrSplit(std::string(*text), kBetweenPairs))) {
    pairs.push_back(absl::StrSplit(pair, absl::MaxSplits(kInsidePair, 1)));
  }
  return pairs;
}

}  // namespace

absl::Status WithReason(std::string_view reason,
                        std::initializer_list<std::pair<std::string_view, std::string_view>> values,
                        absl::Status status) {
  if (status.ok()) return status;
  status.SetPayload(kReason, absl::Cord(std::string(reason)));
  Pairs pairs;
  for (const auto& [name, value] : values) pairs.emplace_back(name, value);
  SetPairs(kValues, pairs, status);
  return status;
}

absl::Status InvalidFields(const std::vector<FieldViolation>& violations) {
  MILLRACE_CHECK(!violations.empty());
  Pairs pairs;
  pairs.reserve(violations.size());
  for (const FieldViolation& violation : violations) {
    pairs.emplace_back(violation.field, violation.description);
  }
  absl::Status status =
      WithReason("INVALID_FIELD", {{"field", violations.front().field}},
                 absl::InvalidArgumentError(absl::StrJoin(pairs, "\n", absl::PairFormatter(": "))));
  SetPairs(kFields, pairs, status);
  return status;
}

absl::Status SlowSubscriber(std::string_view stream, const std::string& who,
                            const std::string& what, const std::string& advice) {
  const std::string words = absl::StrCat("this ", who, " ", what, "; ", advice);
  if (stream.empty()) return WithReason("SLOW_SUBSCRIBER", {}, absl::ResourceExhaustedError(words));
  return WithReason("SLOW_SUBSCRIBER", {{"stream", stream}}, absl::ResourceExhaustedError(words));
}

std::string TookNothing(std::chrono::nanoseconds limit) {
  return absl::StrCat("took nothing for ", std::chrono::duration<double>(limit).count(), " s");
}

absl::Status TooManyChanges() {
  return WithReason(
      "TOO_MANY_CHANGES", {},
      absl::UnavailableError("too many changes are waiting already; try again later"));
}

absl::Status ServerStops() {
  return WithReason("SERVER_STOPS", {},
                    absl::UnavailableError("the server stops; try again once it is back"));
}

std::string ReasonOf(const absl::Status& status) {
  const absl::optional<absl::Cord> text = status.GetPayload(kReason);
  return text.has_value() ? std::string(*text) : "";
}

Pairs ValuesOf(const absl::Status& status) { return PairsOf(kValues, status); }

std::vector<FieldViolation> FieldViolationsOf(const absl::Status& status) {
  std::vector<FieldViolation> violations;
  for (auto& [field, description] : PairsOf(kFields, status)) {
    violations.push_back({.field = std::move(field), .description = std::move(description)});
  }
  return violations;
}

}  // namespace millrace::service
