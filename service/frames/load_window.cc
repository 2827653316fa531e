#include "service/frames/load_window.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "service/frames/windows.h"

namespace millrace::service {
namespace {

constexpr nanoseconds kMinPause = std::chrono::milliseconds(250);

double Share(nanoseconds worked, nanoseconds time) {
  return static_cast<double>(worked.count()) / static_cast<double>(time.count());
}

}  // namespace

std::optional<LinkLoad> BusiestOf(const std::vector<LinkLoad>& links) {
  const auto busiest = std::ranges::max_element(links, {}, &LinkLoad::share);
  return busiest != links.end() ? std::optional(*busiest) : std::nullopt;
}

void LoadWindow::Record(nanoseconds now, const std::vector<pipeline::StageTime>& worked) {
  if (!readings_.empty()) {
    if (now - readings_.back().time < kMinPause) return;
    // A new plan may have other stages.
    if (readings_.back().worked.size() != worked.size()) readings_.clear();
  }
  readings_.push_back({now, worked});
  while (readings_.size() > 1 && readings_[1].time <= now - kWindow) readings_.pop_front();
}

std::vector<StageLoad> LoadWindow::At(nanoseconds now,
                                      const std::vector<pipeline::StageTime>& worked) const {
  // The newest reading that is old enough, or else the oldest.
  auto from = std::find_if(readings_.rbegin(), readings_.rend(),
                           [now](const Reading& reading) { return reading.time <= now - kWindow; });
  if (from == readings_.rend() && !readings_.empty()) from = std::prev(readings_.rend());
  if (from == readings_.rend() || from->time >= now || from->worked.size() != worked.size()) {
    return {};
  }
  std::vector<StageLoad> loads;
  for (std::size_t i = 0; i < worked.size(); ++i) {
    const pipeline::StageTime& before = from->worked[i];
    loads.push_back(
        {.predicting = Share(worked[i].predicting - before.predicting, now - from->time),
         .learning = Share(worked[i].learning - before.learning, now - from->time)});
  }
  return loads;
}

}  // namespace millrace::service
