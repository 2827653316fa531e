// Requests of the Open Inference Protocol: their pictures and their subscription.
#include <numeric>
#include <string>
#include <variant>

#include "base/error_reason.h"
#include "inference/open_inference_grpc.pb.h"
#include "service/wire/wire_inference.h"
#include "tests/fuzz/fuzzer.h"

using namespace millrace;
using namespace millrace::service;

namespace {

void RequireRefusal(const absl::Status& status) {
  Require(!FieldViolationsOf(status).empty(), "what is refused names a field");
}

/// Reads every byte: they must be there.
void ReadAll(std::span<const std::uint8_t> bytes) {
  static volatile unsigned sum = 0;
  sum = std::accumulate(bytes.begin(), bytes.end(), sum + 0);
}

void Infer(const inference::ModelInferRequest& request) {
  const absl::StatusOr<InferenceSample> sample = ToSample(request);
  if (!sample.ok()) return RequireRefusal(sample.status());
  Require(sample->pictures.size() <= 3, "there are no more pictures than a model takes");
  for (const ingest::PictureContent& picture : sample->pictures) {
    const auto* const raw = std::get_if<ingest::RawPicture>(&picture);
    if (raw == nullptr) {
      ReadAll(std::get<std::span<const std::uint8_t>>(picture));
      continue;
    }
    Require(static_cast<std::int64_t>(raw->bytes.size()) == raw->RowBytes() * raw->height,
            "a picture has the bytes of its shape");
    ReadAll(raw->bytes);
  }
}

void Subscribe(const inference::ModelInferRequest& request) {
  const absl::StatusOr<v1::SubscribeRequest> asked = ToSubscription(request);
  if (!asked.ok()) return RequireRefusal(asked.status());
  Require(asked->stream() == request.model_name(), "a model is a stream of its name");
  Require(!asked->has_resume() || !asked->resume().run_id().empty(), "what is resumed is of a run");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  inference::ModelInferRequest request;
  if (!request.ParseFromArray(data, static_cast<int>(size))) return 0;
  Infer(request);
  Subscribe(request);
  return 0;
}
