#include "service/subscriptions/prediction_reader.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error_reason.h"

namespace millrace::service {

PredictionReader::PredictionReader(std::shared_ptr<SubscriptionHub> hub,
                                   const SubscriptionOptions& options)
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
