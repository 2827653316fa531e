#include "service/api/client_predictions.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error_reason.h"
#include "base/status.h"
#include "service/api/client_sample.h"
#include "service/wire/prediction_parts.h"
#include "service/wire/wire.h"
#include "service/wire/wire_picture.h"

namespace millrace::service {
namespace {

using Pictures = google::protobuf::RepeatedPtrField<v1::Picture>;

absl::StatusOr<ClientSample> ToSample(const CameraStream& stream, const Pictures& messages,
                                      const std::stop_token& stop) {
  std::vector<ingest::PictureContent> pictures;
  for (const v1::Picture& message : messages) {
    const absl::StatusOr<ingest::PictureContent> content = ContentOf(message);
    if (!content.ok()) return OfPicture(pictures.size(), content.status());
    pictures.push_back(*content);
  }
  return MakeSample(stream, pictures, stop);
}

/// Adds the errors of sample `number` to `wrong`. Returns any error other than INVALID_ARGUMENT.
absl::Status Collect(int number, const absl::Status& status, std::vector<FieldViolation>& wrong) {
  if (!absl::IsInvalidArgument(status)) return status;
  for (FieldViolation violation : FieldViolationsOf(status)) {
    violation.field = absl::StrCat("samples[", number, "].", violation.field);
    wrong.push_back(std::move(violation));
  }
  return absl::OkStatus();
}

/// The most samples of a request whose predictions fit into one message.
int MaxSamples(const CameraStream& stream, const PredictionParts& parts) {
  const auto learner = stream.learner();
  const std::int64_t cells = std::int64_t{learner->width} * learner->height;
  const bool has_flow = parts.flow && !learner->labels;
  const bool has_picture = parts.next_picture && stream.pictures_per_sample() == 3;
  const bool has_uncertainty = parts.uncertainty && !learner->labels;
  const std::int64_t cell_bytes =
      (has_flow ? 8 : 0) + (has_picture ? 3 : 0) + (has_uncertainty ? 4 : 0);
  constexpr std::int64_t kRest = 64 << 10;  // The preview and all other fields except arrays.
  const std::int64_t fit = kMaxAnswerBytes / (cells * cell_bytes + kRest);
  return static_cast<int>(std::clamp<std::int64_t>(fit, 1, kMaxSamples));
}

absl::Status CheckNumber(const CameraStream& stream, const v1::PredictRequest& request) {
  if (request.pictures_size() > 0) {
    return InvalidFields({{"samples", "are instead of `pictures`: leave one of the two out"}});
  }
  const int max_samples = MaxSamples(stream, PartsOf(request));
  if (request.samples_size() <= max_samples) return absl::OkStatus();
  return InvalidFields(
      {{"samples", absl::StrCat("has ", request.samples_size(), "; a call may have ", max_samples,
                                max_samples < kMaxSamples ? " with what `parts` asks for" : "")}});
}

absl::StatusOr<v1::PredictResponse> OfOne(CameraStream& stream, const v1::PredictRequest& request,
                                          std::chrono::nanoseconds came,
                                          const std::stop_token& stop) {
  MILLRACE_ASSIGN_OR_RETURN(const ClientSample sample, ToSample(stream, request.pictures(), stop));
  MILLRACE_ASSIGN_OR_RETURN(const Prediction prediction, PredictSample(stream, sample, came));
  v1::PredictResponse response;
  ToMessage(prediction, PartsOf(request), *response.mutable_prediction());
  return response;
}

/// After the first wrong sample, the others are only checked, so that the client gets all errors.
absl::StatusOr<v1::PredictResponse> OfSeveral(CameraStream& stream,
                                              const v1::PredictRequest& request,
                                              std::chrono::nanoseconds came,
                                              const std::stop_token& stop) {
  MILLRACE_RETURN_IF_ERROR(CheckNumber(stream, request));
  v1::PredictResponse response;
  std::vector<FieldViolation> wrong;
  for (int i = 0; i < request.samples_size(); ++i) {
    const absl::StatusOr<ClientSample> sample =
        ToSample(stream, request.samples(i).pictures(), stop);
    if (!sample.ok()) MILLRACE_RETURN_IF_ERROR(Collect(i, sample.status(), wrong));
    if (!wrong.empty()) continue;
    MILLRACE_ASSIGN_OR_RETURN(const Prediction prediction, PredictSample(stream, *sample, came));
    ToMessage(prediction, PartsOf(request), *response.add_predictions());
  }
  if (!wrong.empty()) return InvalidFields(wrong);
  return response;
}

}  // namespace

absl::StatusOr<v1::PredictResponse> AnswerPredict(const StreamRegistry& streams,
                                                  const v1::PredictRequest& request,
                                                  std::chrono::nanoseconds came,
                                                  const std::stop_token& stop) {
  MILLRACE_ASSIGN_OR_RETURN(const SharedStream served, streams.Find(request.stream()));
  return request.samples_size() == 0 ? OfOne(*served->stream, request, came, stop)
                                     : OfSeveral(*served->stream, request, came, stop);
}

}  // namespace millrace::service
