#include "service/progress_bar.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "service/terminal.h"

namespace millrace::service {
namespace {

using std::chrono::nanoseconds;

constexpr auto kBetweenLines = std::chrono::milliseconds(200);
constexpr int kCells = 30;

std::string LeftText(double seconds) {
  if (seconds < 60) return absl::StrFormat("%.0f s left", seconds);
  if (seconds < 3600) return absl::StrFormat("%.0f min left", seconds / 60);
  return absl::StrFormat("%.1f h left", seconds / 3600);
}

}  // namespace

ProgressBar::ProgressBar(std::ostream& out, Options options)
    : options_(std::move(options)), start_(options_.clock->Now()), out_(out) {}

void ProgressBar::Show(std::int64_t done, std::int64_t all) {
  const MutexLock lock(mu_);
  if (done < done_) return;
  done_ = done;
  const nanoseconds now = options_.clock->Now();
  if (!options_.rewrites) {
    const std::int64_t tenths = all > 0 ? 10 * done / all : 0;
    if (tenths <= tenths_) return;
    tenths_ = tenths;
    out_ << Line(done, all, now) << "\n" << std::flush;
    return;
  }
  if (shown_ && now - *shown_ < kBetweenLines && done < all) return;
  shown_ = now;
  out_ << "\r" << CutTo(Line(done, all, now), options_.columns) << "\x1b[K" << std::flush;
  line_open_ = true;
}

void ProgressBar::Finish() {
  const MutexLock lock(mu_);
  if (std::exchange(line_open_, false)) out_ << "\n" << std::flush;
}

std::string ProgressBar::Line(std::int64_t done, std::int64_t all, nanoseconds now) const {
  const double share = all > 0 ? static_cast<double>(done) / static_cast<double>(all) : 0;
  const int full = std::clamp(static_cast<int>(share * kCells), 0, kCells);
  std::string line =
      absl::StrCat("[", std::string(full, '#'), std::string(kCells - full, '.'),
                   absl::StrFormat("] %3.0f %%  %d of %d ", 100 * share, done, all), options_.unit);
  if (done == 0 || done >= all) return line;
  const double passed = std::chrono::duration<double>(now - start_).count();
  return absl::StrCat(line, ", ", LeftText(passed * (1 - share) / share));
}

}  // namespace millrace::service
