#include "service/subscription.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "service/error_reason.h"
#include "service/wire_carried.h"

namespace millrace::service {
namespace {

constexpr int kUsualDepth = 16;
constexpr int kMostDepth = 256;

absl::Status OutOfRange(const std::string& why, const ServedStream& served) {
  return Because("RESUME_POINT_GONE", {{"run_id", served.run_id}},
                 absl::OutOfRangeError(absl::StrCat(why, "; subscribe without 'resume'")));
}

/// How many predictions of the stream a reader may have held: flow, or outputs, and the pictures.
int MostHeld(const ServedStream& served) {
  const auto learner = served.stream->learner();
  const std::int64_t pixels = std::int64_t{learner->width} * learner->height;
  const std::int64_t bytes = pixels * (2 * std::int64_t{sizeof(float)} + 3);
  const std::int64_t fit = Subscription::kMostHeldBytes / std::max<std::int64_t>(bytes, 1);
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

// A SubscribeResponse is the concatenation of its fields: the prediction's bytes, which all
// subscribers share, behind their tag and length, and what is this subscriber's own.
grpc::ByteBuffer Assemble(const grpc::Slice& prediction, const std::string& own) {
  constexpr int kLengthDelimited = 2;
  constexpr auto kTag =
      std::uint32_t{v1::SubscribeResponse::kPredictionFieldNumber} << 3U | kLengthDelimited;
  std::string head;
  {
    google::protobuf::io::StringOutputStream text(&head);
    google::protobuf::io::CodedOutputStream out(&text);
    out.WriteTag(kTag);
    out.WriteVarint64(prediction.size());
  }
  const std::array<grpc::Slice, 3> slices = {grpc::Slice(head), prediction, grpc::Slice(own)};
  return {slices.data(), slices.size()};
}

}  // namespace

absl::StatusOr<Subscription::Options> Subscription::OptionsOf(const v1::SubscribeRequest& request,
                                                              const ServedStream& served) {
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

Subscription::Subscription(std::shared_ptr<StreamFeed> feed, const Options& options,
                           Subscribers& subscribers)
    : StreamWriter(subscribers),
      feed_(std::move(feed)),
      options_(options),
      cursor_(options.begin.value_or(feed_->ring().Begin())) {
  ++counters().active;
  feed_->ring().Hold(options_.policy.depth);
}

Subscription::Step Subscription::Advance(grpc::ByteBuffer& message, absl::Status& end) {
  // Asked before the read: what is not there afterwards will never be.
  const bool closed = feed_->ring().closed();
  const PredictionRing::ReadResult next = feed_->ring().Read(cursor_, options_.policy);
  if (next.prediction == nullptr) {
    if (!closed) return Step::kNothing;
    end = feed_->ring().end();
    return Step::kEnd;
  }
  counters().dropped += next.missed;
  // What went by before it resumed is not its fault.
  const bool resumes = !std::exchange(began_, true) && options_.begin;
  if (options_.lossless && next.missed > 0 && !resumes) {
    end = TooSlow(absl::StrCat("fell behind by more than its depth of ", options_.policy.depth));
    return Step::kEnd;
  }
  dropped_total_ += next.missed;
  v1::SubscribeResponse own;
  own.set_dropped(next.missed);
  own.set_dropped_total(dropped_total_);
  own.set_run_id(feed_->served().run_id);
  own.set_sequence(cursor_);
  message = Assemble(feed_->cache().Get(cursor_, *next.prediction, options_.carried),
                     own.SerializeAsString());
  return Step::kMessage;
}

absl::Status Subscription::Stalled(std::chrono::nanoseconds limit) {
  const double seconds = std::chrono::duration<double>(limit).count();
  return TooSlow(absl::StrCat("took nothing for ", seconds, " s"));
}

absl::Status Subscription::TooSlow(const std::string& how) {
  ++counters().cut_off;
  return Because("SLOW_SUBSCRIBER", {{"stream", feed_->served().stream->config().name}},
                 absl::ResourceExhaustedError(absl::StrCat(
                     "this subscriber ", how,
                     "; read faster, ask for less by 'parts', or take the policy LATEST")));
}

}  // namespace millrace::service
