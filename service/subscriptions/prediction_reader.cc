#include "service/subscriptions/prediction_reader.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error_reason.h"
#include "service/wire/wire_carried.h"

namespace millrace::service {
namespace {

constexpr int kUsualDepth = 16;
constexpr int kMostDepth = 256;

absl::Status OutOfRange(const std::string& why, const ServedStream& served) {
  return Because("RESUME_POINT_GONE", {{"run_id", served.run_id}},
                 absl::OutOfRangeError(absl::StrCat(why, "; subscribe anew, to what comes next")));
}

/// The largest depth of a reader: predictions with flow or outputs, and pictures, in
/// kMostHeldBytes.
int MostHeld(const ServedStream& served) {
  const auto learner = served.stream->learner();
  const std::int64_t pixels = std::int64_t{learner->width} * learner->height;
  const std::int64_t bytes = pixels * (2 * std::int64_t{sizeof(float)} + 3);
  const std::int64_t fit = PredictionReader::kMostHeldBytes / std::max<std::int64_t>(bytes, 1);
  return static_cast<int>(std::clamp<std::int64_t>(fit, kUsualDepth, kMostDepth));
}

absl::StatusOr<PredictionRing::Cursor> CursorOf(const v1::ResumePoint& resume,
                                                const ServedStream& served) {
  if (resume.run_id() != served.run_id) {
    return OutOfRange(absl::StrCat("the stream has begun anew since run '", resume.run_id(), "'"),
                      served);
  }
  if (resume.sequence() > served.stream->ring().Begin()) {
    return OutOfRange(absl::StrCat("prediction ", resume.sequence(), " has not come yet"), served);
  }
  return resume.sequence();
}

}  // namespace

absl::StatusOr<PredictionReader::Options> PredictionReader::OptionsOf(
    const v1::SubscribeRequest& request, const ServedStream& served) {
  std::vector<FieldViolation> wrong;
  if (!v1::DeliveryPolicy_IsValid(request.policy())) {
    wrong.push_back({"policy", absl::StrCat(request.policy(),
                                            " is no policy; leave it out, or "
                                            "take LATEST, DROP_OLDEST or LOSSLESS")});
  }
  if (const int most = MostHeld(served); request.depth() < 0 || request.depth() > most) {
    wrong.push_back({"depth", absl::StrCat("is ", request.depth(), "; it must be 1 to ", most,
                                           most < kMostDepth ? " with pictures of this size" : "",
                                           ", or 0 for ", kUsualDepth)});
  }
  if (!wrong.empty()) return InvalidFields(wrong);
  const int depth = request.depth() == 0 ? kUsualDepth : request.depth();
  Options options = {.policy = {.newest = request.policy() == v1::DELIVERY_POLICY_LATEST,
                                .depth = static_cast<std::size_t>(depth)},
                     .lossless = request.policy() == v1::DELIVERY_POLICY_LOSSLESS,
                     .carried = CarriedOf(request)};
  if (request.has_resume()) {
    const absl::StatusOr<PredictionRing::Cursor> begin = CursorOf(request.resume(), served);
    if (!begin.ok()) return begin.status();
    options.begin = *begin;
  }
  return options;
}

PredictionReader::PredictionReader(std::shared_ptr<SubscriptionHub> hub, const Options& options)
    : hub_(std::move(hub)),
      options_(options),
      cursor_(options.begin.value_or(hub_->ring().Begin())) {
  ++counters().active;
  hub_->ring().Hold(options_.policy.depth);
}

std::optional<PredictionReader::Next> PredictionReader::Read() {
  // Checked before the read: if the ring is closed and the read finds no prediction, none will
  // follow.
  const bool closed = hub_->ring().closed();
  const PredictionRing::ReadResult next = hub_->ring().Read(cursor_, options_.policy);
  if (next.prediction == nullptr) {
    if (closed) end_ = hub_->ring().end();
    return std::nullopt;
  }
  counters().dropped += next.missed;
  // Predictions lost before a resumption do not end a lossless subscription.
  const bool resumes = !std::exchange(began_, true) && options_.begin;
  if (options_.lossless && next.missed > 0 && !resumes) {
    end_ = TooSlow(absl::StrCat("fell behind by more than its depth of ", options_.policy.depth));
    return std::nullopt;
  }
  dropped_total_ += next.missed;
  return Next{.prediction = next.prediction,
              .sequence = cursor_,
              .dropped = next.missed,
              .dropped_total = dropped_total_};
}

absl::Status PredictionReader::Stalled(std::chrono::nanoseconds limit) {
  return TooSlow(TookNothing(limit));
}

absl::Status PredictionReader::TooSlow(const std::string& how) {
  ++counters().cut_off;
  return SlowSubscriber(hub_->served().stream->config().name, "subscriber", how,
                        "read faster, ask for less of each prediction, or take the policy LATEST");
}

}  // namespace millrace::service
