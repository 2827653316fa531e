#include "service/commands/plan/link_rate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "service/terminal/text_table.h"

namespace millrace::service {
namespace {

constexpr double kBitsPerByte = 8;
constexpr std::array<std::pair<char, double>, 4> kPrefixes = {
    {{'k', 1e3}, {'m', 1e6}, {'g', 1e9}, {'t', 1e12}}};

// Takes the letter of a power of 1000 from the front. Returns the power.
double TakePrefix(absl::string_view& unit) {
  for (const auto& [letter, power] : kPrefixes) {
    if (!unit.empty() && absl::ascii_tolower(unit.front()) == letter) {
      unit.remove_prefix(1);
      return power;
    }
  }
  return 1;
}

// The bytes of "bit", "bit/s", "bps", "b/s", "B/s" or "Bps"; 0 for any other unit.
double BytesOf(absl::string_view unit) {
  const bool by_second = absl::ConsumeSuffix(&unit, "/s") || absl::ConsumeSuffix(&unit, "ps");
  if (absl::EqualsIgnoreCase(unit, "bit")) return 1 / kBitsPerByte;
  if (!by_second) return 0;
  if (unit == "b") return 1 / kBitsPerByte;
  return unit == "B" ? 1 : 0;
}

}  // namespace

absl::StatusOr<double> ParseLinkRate(std::string_view text, std::string_view option) {
  const absl::string_view whole =
      absl::StripAsciiWhitespace(absl::string_view(text.data(), text.size()));
  const std::size_t end = std::min(whole.find_first_not_of("0123456789."), whole.size());
  absl::string_view unit = absl::StripLeadingAsciiWhitespace(whole.substr(end));
  double number = 0;
  const bool is_number = absl::SimpleAtod(whole.substr(0, end), &number);
  const double power = TakePrefix(unit);
  const double rate = number * power * BytesOf(unit);
  if (is_number && rate > 0 && std::isfinite(rate)) return rate;
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(option), ": '", std::string(text),
                   "' is no rate; write a number above 0 and its unit, such as 1gbit, 200mbit, "
                   "2.5Gbit/s, 10Gbps or 125MB/s"));
}

std::string LinkRateText(double bytes_per_second) {
  const double bits = bytes_per_second * kBitsPerByte;
  if (bits >= 1e9) return absl::StrCat(NumberText(bits / 1e9), " Gbit/s");
  if (bits >= 1e6) return absl::StrCat(NumberText(bits / 1e6), " Mbit/s");
  return absl::StrCat(NumberText(bits / 1e3), " kbit/s");
}

}  // namespace millrace::service
