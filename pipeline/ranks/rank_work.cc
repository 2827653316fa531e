#include "pipeline/ranks/rank_work.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace millrace::pipeline {

// "9 2 12 34 0 0 2 56 78 0 0". The time of a megabyte is first. Then come the number of pairs, and
// the pairs, of stages and of ranks.
std::string TextOf(const RankWork& work) {
  std::vector<std::int64_t> numbers = {work.megabyte_down.count()};
  numbers.push_back(static_cast<std::int64_t>(work.stages.size()));
  for (const StageTime& stage : work.stages) {
    numbers.push_back(stage.predicting.count());
    numbers.push_back(stage.learning.count());
  }
  numbers.push_back(static_cast<std::int64_t>(work.sent.size()));
  for (const SentToRank& sent : work.sent) {
    numbers.push_back(sent.bytes);
    numbers.push_back(sent.busy.count());
  }
  return absl::StrJoin(numbers, " ");
}

std::optional<RankWork> WorkOf(std::string_view text) {
  std::vector<std::int64_t> numbers;
  for (const absl::string_view word :
       absl::StrSplit(absl::string_view(text.data(), text.size()), ' ')) {
    if (!absl::SimpleAtoi(word, &numbers.emplace_back())) return std::nullopt;
  }
  std::size_t next = 1;
  // The pairs of one kind.
  const auto read = [&](const auto& add) {
    if (next >= numbers.size()) return false;
    const std::int64_t pairs = numbers[next++];
    if (pairs < 0 || pairs > static_cast<std::int64_t>(numbers.size() - next) / 2) return false;
    for (std::int64_t i = 0; i < pairs; ++i, next += 2) add(numbers[next], numbers[next + 1]);
    return true;
  };
  RankWork work;
  const bool whole = read([&](std::int64_t predicting, std::int64_t learning) {
                       work.stages.push_back({.predicting = nanoseconds(predicting),
                                              .learning = nanoseconds(learning)});
                     }) &&
                     read([&](std::int64_t bytes, std::int64_t busy) {
                       work.sent.push_back({.bytes = bytes, .busy = nanoseconds(busy)});
                     });
  if (!whole || next != numbers.size()) return std::nullopt;
  work.megabyte_down = nanoseconds(numbers.front());
  return work;
}

}  // namespace millrace::pipeline
