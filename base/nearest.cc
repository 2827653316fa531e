#include "base/nearest.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace millrace {
namespace {

/// The number of letters to insert, delete, change or swap with a neighbour to turn `a` into `b`.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> of(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        of[i][j] = std::max(i, j);
        continue;
      }
      of[i][j] = std::min(
          {of[i - 1][j] + 1, of[i][j - 1] + 1, of[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) of[i][j] = std::min(of[i][j], of[i - 2][j - 2] + 1);
    }
  }
  return of[a.size()][b.size()];
}

/// The maximum number of changes at which two words still count as similar.
std::size_t MaxChanges(std::size_t letters) {
  return letters < 5 ? 1 : std::max<std::size_t>(2, letters / 3);
}

}  // namespace

std::string Nearest(std::string_view name, std::span<const std::string> known) {
  std::string nearest;
  std::size_t min_distance = MaxChanges(name.size()) + 1;
  for (const std::string& one : known) {
    const std::size_t distance = EditDistance(one, name);
    if (distance < min_distance) {
      min_distance = distance;
      nearest = one;
    }
  }
  return nearest;
}

}  // namespace millrace
