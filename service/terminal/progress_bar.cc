#include "service/terminal/progress_bar.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "service/terminal/terminal.h"

namespace millrace::service {
namespace {

using std::chrono::nanoseconds;

constexpr auto kBetweenLines = std::chrono::milliseconds(200);
constexpr auto kBetweenPrinted = std::chrono::seconds(2);
constexpr std::size_t kColumns = 80;  // Used if the terminal does not report its width.
constexpr int kMaxCells = 30;
constexpr int kMinCells = 5;
constexpr int kBrackets = 2;

}  // namespace

std::string BarText(double share, int cells) {
  const int full = std::clamp(static_cast<int>(share * cells), 0, cells);
  return absl::StrCat("[", std::string(full, '#'), std::string(cells - full, '.'), "]");
}

std::string TimeLeftText(double seconds) { return absl::StrCat(DurationText(seconds), " left"); }

ProgressBar::Options ProgressBar::OnStandardError(std::string unit) {
  return {.unit = std::move(unit),
          .rewrites = isatty(STDERR_FILENO) != 0,
          .columns = TerminalColumns(kColumns, STDERR_FILENO)};
}

ProgressBar::ProgressBar(std::ostream& out, Options options)
    : options_(std::move(options)), start_(options_.clock->Now()), out_(out) {}

void ProgressBar::Show(std::int64_t done, std::int64_t all) {
  const MutexLock lock(mu_);
  if (done < done_) return;
  done_ = done;
  const nanoseconds now = options_.clock->Now();
  if (!options_.rewrites) return PrintTenth(done, all, now);
  if (shown_ && now - *shown_ < kBetweenLines && done < all) return;
  if (done > 0) shown_ = now;  // The first line with an estimate is shown at once.
  out_ << "\r" << CutTo(Line(done, all, now), options_.columns) << "\x1b[K" << std::flush;
  line_open_ = true;
}

void ProgressBar::PrintTenth(std::int64_t done, std::int64_t all, nanoseconds now) {
  const std::int64_t tenths = all > 0 ? 10 * done / all : 0;
  const bool soon = now - shown_.value_or(start_) < kBetweenPrinted;
  const bool last = done >= all && shown_;
  if (tenths <= tenths_ || (soon && !last)) return;
  tenths_ = tenths;
  shown_ = now;
  out_ << Line(done, all, now) << "\n" << std::flush;
}

void ProgressBar::Clear() {
  const MutexLock lock(mu_);
  if (!std::exchange(line_open_, false)) return;
  shown_.reset();
  out_ << "\r\x1b[K" << std::flush;
}

void ProgressBar::Finish() {
  const MutexLock lock(mu_);
  if (std::exchange(line_open_, false)) out_ << "\n" << std::flush;
}

// On a narrow terminal the bar is short or left out: the numbers matter more.
std::string ProgressBar::Line(std::int64_t done, std::int64_t all, nanoseconds now) const {
  const double share = all > 0 ? static_cast<double>(done) / static_cast<double>(all) : 0;
  std::string figures =
      absl::StrCat(absl::StrFormat("%3.0f %%  %d of %d ", 100 * share, done, all), options_.unit);
  if (done > 0 && done < all) {
    const double passed = std::chrono::duration<double>(now - start_).count();
    absl::StrAppend(&figures, ", ", TimeLeftText(passed * (1 - share) / share));
  }
  const int room = static_cast<int>(options_.columns) - static_cast<int>(figures.size()) - 1;
  const int cells = options_.rewrites ? std::min(kMaxCells, room - kBrackets) : kMaxCells;
  if (cells < kMinCells) return figures;
  return absl::StrCat(BarText(share, cells), " ", figures);
}

}  // namespace millrace::service
