#include "pipeline/ranks/rank_work.h"

#include <deque>
#include <iterator>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace millrace::pipeline {

// "9 2 12 34 0 0 2 56 0". The time of a megabyte is first. Then come the number of stages, with two
// times of each, and the number of ranks, with the bytes to each.
std::string TextOf(const RankWork& work) {
  std::vector<std::int64_t> numbers = {work.megabyte_down.count(), std::ssize(work.stages)};
  for (const StageTime& stage : work.stages) {
    numbers.push_back(stage.predicting.count());
    numbers.push_back(stage.learning.count());
  }
  numbers.push_back(std::ssize(work.sent));
  numbers.insert(numbers.end(), work.sent.begin(), work.sent.end());
  return absl::StrJoin(numbers, " ");
}

std::optional<RankWork> WorkOf(std::string_view text) {
  std::deque<std::int64_t> numbers;
  for (const absl::string_view word :
       absl::StrSplit(absl::string_view(text.data(), text.size()), ' ')) {
    if (!absl::SimpleAtoi(word, &numbers.emplace_back())) return std::nullopt;
  }
  // The next number, if that many groups of `size` numbers follow.
  const auto count_of = [&](std::int64_t size) -> std::optional<std::int64_t> {
    if (numbers.empty()) return std::nullopt;
    const std::int64_t count = numbers.front();
    numbers.pop_front();
    if (count < 0 || count > std::ssize(numbers) / size) return std::nullopt;
    return count;
  };
  const auto next = [&] {
    const std::int64_t number = numbers.front();
    numbers.pop_front();
    return number;
  };
  RankWork work{.megabyte_down = nanoseconds(next())};
  const auto stages = count_of(2);
  for (std::int64_t i = 0; i < stages.value_or(0); ++i) {
    const nanoseconds predicting(next());
    work.stages.push_back({.predicting = predicting, .learning = nanoseconds(next())});
  }
  const auto ranks = stages ? count_of(1) : std::nullopt;
  for (std::int64_t i = 0; i < ranks.value_or(0); ++i) work.sent.push_back(next());
  if (!ranks || !numbers.empty()) return std::nullopt;
  return work;
}

}  // namespace millrace::pipeline
