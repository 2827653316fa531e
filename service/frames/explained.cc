#include "service/frames/explained.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace millrace::service {
namespace {

constexpr char kUnknown[] = "-";

}  // namespace

std::string ExplainedShare(double loss, double loss_no_motion) {
  const double percent = std::round(100 * (1 - loss / loss_no_motion));
  if (!(loss_no_motion > 0) || !std::isfinite(percent)) return kUnknown;
  return percent < 0 ? "none" : absl::StrFormat("%.0f %%", std::abs(percent));
}

std::string ExplainedText(double loss, double loss_no_motion) {
  const std::string share = ExplainedShare(loss, loss_no_motion);
  return share == kUnknown ? "explains -" : absl::StrCat("explains ", share, " of the motion");
}

}  // namespace millrace::service
