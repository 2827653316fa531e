#include "service/wire/wire_subscription.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error_reason.h"
#include "base/status.h"
#include "millrace/v1/prediction_service.pb.h"

namespace millrace::service {
namespace {

constexpr int kUsualDepth = 16;
constexpr int kMaxDepth = 256;

absl::Status OutOfRange(const std::string& why, const ServedStream& served) {
  return WithReason(
      "RESUME_POINT_GONE", {{"run_id", served.run_id}},
      absl::OutOfRangeError(absl::StrCat(why, "; subscribe again to get the next predictions")));
}

/// The largest depth of a reader: predictions with flow or outputs, and pictures, in
/// kMaxHeldBytes.
int MaxDepthFor(const ServedStream& served) {
  const auto learner = served.stream->learner();
  const std::int64_t pixels = std::int64_t{learner->width} * learner->height;
  const std::int64_t bytes = pixels * (2 * std::int64_t{sizeof(float)} + 3);
  const std::int64_t fit = kMaxHeldBytes / std::max<std::int64_t>(bytes, 1);
  return static_cast<int>(std::clamp<std::int64_t>(fit, kUsualDepth, kMaxDepth));
}

absl::StatusOr<PredictionRing::Cursor> CursorOf(const v1::ResumePoint& resume,
                                                const ServedStream& served) {
  if (resume.run_id() != served.run_id) {
    return OutOfRange(absl::StrCat("the stream has restarted since run '", resume.run_id(), "'"),
                      served);
  }
  if (resume.sequence() > served.stream->ring().Begin()) {
    return OutOfRange(absl::StrCat("prediction ", resume.sequence(), " has not come yet"), served);
  }
  return resume.sequence();
}

}  // namespace

absl::StatusOr<SubscriptionOptions> ToOptions(const v1::SubscribeRequest& request,
                                              const ServedStream& served) {
  std::vector<FieldViolation> wrong;
  if (!v1::DeliveryPolicy_IsValid(request.policy())) {
    wrong.push_back({"policy", absl::StrCat(request.policy(),
                                            " is no policy; leave it out, or "
                                            "take LATEST, DROP_OLDEST or LOSSLESS")});
  }
  if (const int max_depth = MaxDepthFor(served);
      request.depth() < 0 || request.depth() > max_depth) {
    wrong.push_back(
        {"depth", absl::StrCat("is ", request.depth(), "; it must be 1 to ", max_depth,
                               max_depth < kMaxDepth ? " with pictures of this size" : "",
                               ", or 0 for ", kUsualDepth)});
  }
  if (!wrong.empty()) return InvalidFields(wrong);
  const int depth = request.depth() == 0 ? kUsualDepth : request.depth();
  SubscriptionOptions options = {
      .policy = {.newest = request.policy() == v1::DELIVERY_POLICY_LATEST,
                 .depth = static_cast<std::size_t>(depth)},
      .lossless = request.policy() == v1::DELIVERY_POLICY_LOSSLESS,
      .parts = PartsOf(request)};
  if (request.has_resume()) {
    MILLRACE_ASSIGN_OR_RETURN(options.begin, CursorOf(request.resume(), served));
  }
  return options;
}

}  // namespace millrace::service
