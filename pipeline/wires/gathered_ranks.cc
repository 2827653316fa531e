#include "pipeline/wires/gathered_ranks.h"

#include <chrono>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/plural.h"
#include "base/status.h"

namespace millrace::pipeline {

GatheredRanks::GatheredRanks(JoinRanks join, int size, const Clock& clock)
    : join_(std::move(join)), clock_(clock) {
  MILLRACE_CHECK(size > 1);
  figures_.expected = size;
  Gather();
}

GatheredRanks::~GatheredRanks() = default;

void GatheredRanks::Gather() {
  gatherer_ = std::jthread([this, size = figures().expected](const std::stop_token& stop) {
    GatherUntilAllConnect(size, stop);
  });
}

void GatheredRanks::GatherUntilAllConnect(int size, const std::stop_token& stop) {
  constexpr std::chrono::milliseconds kBetweenTries{200};
  while (true) {
    auto group =
        join_({.size = size, .stop = stop, .on_there = [this](int there) { OnThere(there); }});
    const MutexLock lock(mu_);
    if (!absl::IsUnavailable(group.status()) || stop.stop_requested()) {
      next_ = std::move(group);
      return;
    }
    why_ = group.status();
    stopped_.wait_for(mu_, stop, kBetweenTries, [] { return false; });
  }
}

void GatheredRanks::OnThere(int there) {
  const MutexLock lock(mu_);
  figures_.joined = there;
}

absl::StatusOr<RankGroup*> GatheredRanks::Next() {
  MILLRACE_CHECK(group() == nullptr);
  absl::StatusOr<std::unique_ptr<RankGroup>> next(nullptr);
  {
    const MutexLock lock(mu_);
    if (!next_.has_value()) return nullptr;
    next = *std::move(next_);
    next_.reset();
    is_gathering_ = false;
  }
  gatherer_.join();
  MILLRACE_RETURN_IF_ERROR(next.status());
  const std::shared_ptr<RankGroup> group = *std::move(next);
  const MutexLock lock(mu_);
  group_ = group;
  ++figures_.groups;
  figures_.joined = figures_.expected;
  for (int rank = 0; rank < group->size(); ++rank) figures_.names.push_back(group->name(rank));
  return group.get();
}

std::shared_ptr<RankGroup> GatheredRanks::Shared() const {
  const MutexLock lock(mu_);
  return group_;
}

bool GatheredRanks::IsUselessTooOften(bool served) {
  if (served) {
    useless_.clear();
    return false;
  }
  useless_.push_back(clock_.Now());
  if (useless_.size() > kMaxUseless) useless_.pop_front();
  return useless_.size() == kMaxUseless &&
         useless_.back() - useless_.front() <= std::chrono::minutes(1);
}

absl::Status GatheredRanks::Replace(bool served) {
  std::shared_ptr<RankGroup> over;
  absl::Status lost;
  {
    const MutexLock lock(mu_);
    over = std::exchange(group_, nullptr);
    lost = over->lost();
    MILLRACE_CHECK(!lost.ok());
    ++figures_.lost;
    figures_.joined = 1;
    figures_.names.clear();
    is_gathering_ = true;
    why_ = lost;
  }
  absl::Cleanup gathers_not = [this] {
    const MutexLock lock(mu_);
    is_gathering_ = false;
  };
  over.reset();
  if (IsUselessTooOften(served)) {
    return absl::Status(lost.code(), absl::StrCat(lost.message(), "; ", kMaxUseless,
                                                  " times within a minute, a process was lost "
                                                  "before the first prediction"));
  }
  Gather();
  std::move(gathers_not).Cancel();
  return absl::OkStatus();
}

absl::Status GatheredRanks::missing() const {
  const MutexLock lock(mu_);
  if (!is_gathering_) return absl::OkStatus();
  const int missing = figures_.expected - figures_.joined;
  std::string why = missing > 0 ? absl::StrCat("waiting for ", Plural(missing, "process", "es"))
                                : "all processes have joined, and connect";
  if (!why_.ok()) absl::StrAppend(&why, ": ", why_.message());
  return absl::UnavailableError(why);
}

std::vector<std::string> GatheredRanks::news() const {
  std::vector<std::string> news;
  const std::shared_ptr<RankGroup> group = Shared();
  for (int rank = 0; group != nullptr && rank < group->size(); ++rank) {
    news.push_back(group->NewsOf(rank));
  }
  return news;
}

RankFigures GatheredRanks::figures() const {
  std::shared_ptr<RankGroup> group;
  RankFigures figures;
  {
    const MutexLock lock(mu_);
    group = group_;
    figures = figures_;
  }
  if (group != nullptr && !group->lost().ok()) --figures.joined;
  return figures;
}

}  // namespace millrace::pipeline
