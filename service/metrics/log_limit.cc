#include "service/metrics/log_limit.h"

#include <algorithm>
#include <cctype>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "base/log_about.h"
#include "spdlog/details/log_msg.h"

namespace millrace::service {
namespace {

constexpr std::chrono::seconds kPause(1);
// More different messages within a second than this are not repeats: all are shown.
constexpr std::size_t kMaxKinds = 256;

bool IsAmong(std::string_view characters, char c) {
  return characters.find(c) != std::string_view::npos;
}

/// The length of an IPv6 address or a time of day at the start of `text`, else 0.
std::size_t LengthOfAddress(std::string_view text) {
  const std::size_t end = text.find_first_not_of("0123456789abcdefABCDEF:.");
  const std::string_view word = text.substr(0, end);
  return std::ranges::count(word, ':') >= 2 ? word.size() : 0;
}

/// `text` with each number and each IPv6 address replaced by one '0'.
std::string WithoutNumbers(std::string_view text) {
  std::string without;
  for (std::size_t i = 0; i < text.size();) {
    const bool in_a_word = i > 0 && std::isalnum(static_cast<unsigned char>(text[i - 1])) != 0;
    const std::size_t address = in_a_word ? 0 : LengthOfAddress(text.substr(i));
    const bool number = address > 0 || IsAmong("0123456789", text[i]);
    if (!number) without += text[i];
    if (number && (without.empty() || without.back() != '0')) without += '0';
    i += std::max<std::size_t>(address, 1);
  }
  return without;
}

}  // namespace

LogLimit::~LogLimit() {
  const MutexLock lock(mu_);
  ShowWhatIsDue(options_.clock->Now(), /*all=*/true);
}

LogLimit::Kind LogLimit::KindOf(const spdlog::details::log_msg& message) {
  return {.level = message.level,
          .stream = std::string(LogAbout::Stream()),
          .text = WithoutNumbers({message.payload.data(), message.payload.size()})};
}

void LogLimit::log(const spdlog::details::log_msg& message) {
  options_.counts->Add(message.level);
  if (message.level <= spdlog::level::debug) return options_.to->log(message);
  const MutexLock lock(mu_);
  const nanoseconds now = options_.clock->Now();
  ShowWhatIsDue(now, /*all=*/false);
  Kind kind = KindOf(message);
  const auto known = kinds_.find(kind);
  if (known != kinds_.end()) {
    ++known->second.count;
    known->second.text.assign(message.payload.data(), message.payload.size());
    return;
  }
  if (kinds_.size() < kMaxKinds) kinds_[std::move(kind)].shown = now;
  options_.to->log(message);
}

void LogLimit::flush() {
  const MutexLock lock(mu_);
  ShowWhatIsDue(options_.clock->Now(), /*all=*/false);
  options_.to->flush();
}

void LogLimit::ShowWhatIsDue(nanoseconds now, bool all) {
  for (auto it = kinds_.begin(); it != kinds_.end();) {
    auto& [kind, repeats] = *it;
    if (!all && now - repeats.shown < kPause) {
      ++it;
    } else if (repeats.count == 0) {
      it = kinds_.erase(it);  // The next message is no repeat.
    } else {
      Show(kind, repeats);
      repeats = {.shown = now};
      ++it;
    }
  }
}

void LogLimit::Show(const Kind& kind, const Repeats& repeats) const {
  const LogAbout about(kind.stream);
  std::string text = repeats.text;
  if (repeats.count > 1) absl::StrAppend(&text, " ... and ", repeats.count - 1, " more like it");
  options_.to->log(spdlog::details::log_msg("millrace", kind.level, text));
}

}  // namespace millrace::service
