#include "service/wire/wire_inference.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error_reason.h"
#include "base/status.h"

namespace millrace::service {
namespace {

using inference::InferParameter;
using inference::ModelInferRequest;
using Input = ModelInferRequest::InferInputTensor;
using Metadata = inference::ModelMetadataResponse::TensorMetadata;

constexpr char kPictures[] = "pictures";
// The most pictures in a sample of any task.
constexpr int kMaxPictures = 3;

absl::Status Wrong(std::string field, std::string description) {
  return InvalidFields({{std::move(field), std::move(description)}});
}

std::span<const std::uint8_t> BytesOf(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

void Describe(Metadata& tensor, const char* name, const char* datatype,
              std::initializer_list<std::int64_t> shape) {
  tensor.set_name(name);
  tensor.set_datatype(datatype);
  tensor.mutable_shape()->Add(shape.begin(), shape.end());
}

/// Checks that the input's data are present once, in one form.
absl::Status CheckContents(const ModelInferRequest& request, const Input& input) {
  const int raw = request.raw_input_contents_size();
  if (raw > 1) {
    return Wrong("raw_input_contents", absl::StrCat("has ", raw, "; there is one input"));
  }
  if (raw == 1 && input.contents().ByteSizeLong() > 0) {
    return Wrong("inputs[0].contents", "must be empty where there are raw_input_contents");
  }
  return absl::OkStatus();
}

/// The input's bytes: the raw ones, or a copy assembled in `owned`.
absl::StatusOr<std::string_view> PixelsOf(const ModelInferRequest& request, const Input& input,
                                          InferenceSample& sample) {
  if (request.raw_input_contents_size() > 0) return request.raw_input_contents(0);
  std::string& pixels = sample.owned.emplace_back();
  pixels.reserve(input.contents().uint_contents_size());
  for (const std::uint32_t value : input.contents().uint_contents()) {
    if (value > std::numeric_limits<std::uint8_t>::max()) {
      return Wrong("inputs[0].contents.uint_contents",
                   absl::StrCat("has a ", value, ", which is no UINT8"));
    }
    pixels.push_back(static_cast<char>(value));
  }
  return pixels;
}

absl::Status AddPixels(const ModelInferRequest& request, const Input& input,
                       InferenceSample& sample) {
  constexpr std::int64_t kColours = 3;
  const auto& shape = input.shape();
  const auto fits = [](std::int64_t side) { return side > 0 && side <= ingest::kMaxPixelsPerSide; };
  if (shape.size() != 4 || shape[0] < 0 || shape[0] > kMaxPictures || !fits(shape[1]) ||
      !fits(shape[2]) || shape[3] != kColours) {
    return Wrong("inputs[0].shape",
                 absl::StrCat("is [", absl::StrJoin(shape, ", "),
                              "]; it must be [pictures, height, width, 3]: red, green, blue"));
  }
  MILLRACE_ASSIGN_OR_RETURN(const std::string_view bytes, PixelsOf(request, input, sample));
  const std::int64_t each = shape[1] * shape[2] * kColours;
  if (static_cast<std::int64_t>(bytes.size()) != each * shape[0]) {
    return Wrong("inputs[0]",
                 absl::StrCat("has ", bytes.size(), " bytes; its shape takes ", each * shape[0]));
  }
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    sample.pictures.emplace_back(
        ingest::RawPicture{.format = ingest::PixelFormat::kRgb,
                           .width = static_cast<int>(shape[2]),
                           .height = static_cast<int>(shape[1]),
                           .bytes = BytesOf(bytes.substr(i * each, each))});
  }
  return absl::OkStatus();
}

absl::Status TooManyImages(std::string field) {
  return Wrong(std::move(field),
               absl::StrCat("has more images than the ", kMaxPictures, " that a model takes"));
}

/// Each image follows its length: 4 bytes, little-endian.
absl::Status AddRawImages(std::string_view raw, InferenceSample& sample) {
  while (!raw.empty()) {
    if (sample.pictures.size() == kMaxPictures) return TooManyImages("raw_input_contents[0]");
    std::uint32_t length = 0;
    if (raw.size() < sizeof(length)) return Wrong("raw_input_contents[0]", "is cut short");
    std::memcpy(&length, raw.data(), sizeof(length));
    raw.remove_prefix(sizeof(length));
    if (raw.size() < length) return Wrong("raw_input_contents[0]", "is cut short");
    sample.pictures.emplace_back(BytesOf(raw.substr(0, length)));
    raw.remove_prefix(length);
  }
  return absl::OkStatus();
}

absl::Status AddImages(const ModelInferRequest& request, const Input& input,
                       InferenceSample& sample) {
  if (request.raw_input_contents_size() > 0) {
    MILLRACE_RETURN_IF_ERROR(AddRawImages(request.raw_input_contents(0), sample));
  }
  if (input.contents().bytes_contents_size() > kMaxPictures) {
    return TooManyImages("inputs[0].contents.bytes_contents");
  }
  for (const std::string& image : input.contents().bytes_contents()) {
    sample.pictures.emplace_back(BytesOf(image));
  }
  const auto count = static_cast<std::int64_t>(sample.pictures.size());
  if (input.shape_size() == 1 && input.shape(0) == count) return absl::OkStatus();
  return Wrong("inputs[0].shape", absl::StrCat("is [", absl::StrJoin(input.shape(), ", "),
                                               "]; with these images it must be [", count, "]"));
}

/// The names of the model's outputs, in order.
std::vector<std::string> OutputsOf(const CameraStream& stream) {
  if (stream.learner()->labels) return {"outputs"};
  if (stream.config().flow.next_frame) return {"flow", "next_picture", "uncertainty"};
  return {"flow", "uncertainty"};
}

/// Rejects parameters such as `classification` and shared memory: clients would assume that the
/// server obeys them.
absl::Status CheckOutputs(const ModelInferRequest& request) {
  for (int i = 0; i < request.outputs_size(); ++i) {
    const auto& parameters = request.outputs(i).parameters();
    if (parameters.empty()) continue;
    return Wrong(absl::StrCat("outputs[", i, "].parameters[\"", parameters.begin()->first, "\"]"),
                 "is not known here: leave it out, outputs have no parameters");
  }
  return absl::OkStatus();
}

absl::Status SetSubscription(const std::string& name, const InferParameter& value,
                             v1::SubscribeRequest& request) {
  const bool is_text = value.parameter_choice_case() == InferParameter::kStringParam;
  const bool is_number = value.parameter_choice_case() == InferParameter::kInt64Param;
  if (name == "policy" && is_text) {
    v1::DeliveryPolicy policy = v1::DELIVERY_POLICY_UNSPECIFIED;
    if (v1::DeliveryPolicy_Parse("DELIVERY_POLICY_" + value.string_param(), &policy)) {
      request.set_policy(policy);
      return absl::OkStatus();
    }
  } else if (name == "depth" && is_number && std::in_range<std::int32_t>(value.int64_param())) {
    request.set_depth(static_cast<std::int32_t>(value.int64_param()));
    return absl::OkStatus();
  } else if (name == "run_id" && is_text) {
    request.mutable_resume()->set_run_id(value.string_param());
    return absl::OkStatus();
  } else if (name == "sequence" && is_number && value.int64_param() >= 0) {
    request.mutable_resume()->set_sequence(static_cast<std::uint64_t>(value.int64_param()));
    return absl::OkStatus();
  }
  return Wrong(absl::StrCat("parameters[\"", name, "\"]"),
               "is unknown; known here: policy (\"LATEST\", \"DROP_OLDEST\" or \"LOSSLESS\"), "
               "depth (a number), "
               "run_id (a text), sequence (a number)");
}

}  // namespace

absl::Status CheckModelVersion(const std::string& version) {
  if (version.empty() || version == kModelVersion) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat("there is no version '", version,
                                          "' of the model; leave it out: a model that never stops "
                                          "learning has one, the newest"));
}

absl::Status CheckId(const std::string& id) {
  constexpr std::size_t kMaxLength = 256;
  if (id.size() <= kMaxLength) return absl::OkStatus();
  return Wrong("id", absl::StrCat("has ", id.size(), " bytes; it may have ", kMaxLength));
}

void ToMetadata(const CameraStream& stream, inference::ModelMetadataResponse& message) {
  const auto learner = stream.learner();
  const auto& labels = learner->labels;
  message.set_name(stream.config().name);
  message.add_versions(std::string(kModelVersion));
  message.set_platform("millrace");
  Describe(*message.add_inputs(), kPictures, "UINT8", {stream.pictures_per_sample(), -1, -1, 3});
  for (const std::string& name : OutputsOf(stream)) {
    Metadata& output = *message.add_outputs();
    if (name == "outputs" && labels) {
      Describe(output, "outputs", "FP32", {labels->outputs});
    } else if (name == "flow") {
      Describe(output, "flow", "FP32", {learner->height, learner->width, 2});
    } else if (name == "uncertainty") {
      Describe(output, "uncertainty", "FP32", {learner->height, learner->width});
    } else {
      Describe(output, "next_picture", "UINT8", {learner->height, learner->width, 3});
    }
  }
}

absl::StatusOr<InferenceSample> ToSample(const ModelInferRequest& request) {
  if (request.inputs_size() != 1 || request.inputs(0).name() != kPictures) {
    return Wrong("inputs", "must be one tensor, named pictures");
  }
  const Input& input = request.inputs(0);
  MILLRACE_RETURN_IF_ERROR(CheckContents(request, input));
  InferenceSample sample;
  absl::Status added;
  if (input.datatype() == "UINT8") {
    added = AddPixels(request, input, sample);
  } else if (input.datatype() == "BYTES") {
    added = AddImages(request, input, sample);
  } else {
    added = Wrong("inputs[0].datatype",
                  absl::StrCat("is '", input.datatype(),
                               "'; it must be UINT8, of pixels, or BYTES, of JPEG or PNG images"));
  }
  if (!added.ok()) return added;
  return sample;
}

absl::StatusOr<PredictionParts> ToParts(const ModelInferRequest& request,
                                        const CameraStream& stream) {
  MILLRACE_RETURN_IF_ERROR(CheckOutputs(request));
  if (request.outputs().empty()) return PredictionParts{.uncertainty = true};
  const std::vector<std::string> known = OutputsOf(stream);
  PredictionParts parts = {.flow = false, .next_picture = false, .outputs = false};
  for (int i = 0; i < request.outputs_size(); ++i) {
    const std::string& name = request.outputs(i).name();
    if (std::ranges::find(known, name) == known.end()) {
      return Wrong(absl::StrCat("outputs[", i, "].name"),
                   absl::StrCat("is '", name, "'; the model of stream '", stream.config().name,
                                "' has: ", absl::StrJoin(known, ", ")));
    }
    parts.flow |= name == "flow";
    parts.next_picture |= name == "next_picture";
    parts.outputs |= name == "outputs";
    parts.uncertainty |= name == "uncertainty";
  }
  return parts;
}

absl::StatusOr<v1::SubscribeRequest> ToSubscription(const ModelInferRequest& request) {
  v1::SubscribeRequest subscription;
  subscription.set_stream(request.model_name());
  for (const auto& [name, value] : request.parameters()) {
    MILLRACE_RETURN_IF_ERROR(SetSubscription(name, value, subscription));
  }
  if (subscription.has_resume() && subscription.resume().run_id().empty()) {
    return Wrong("parameters[\"sequence\"]",
                 "is of no run: send run_id with it, both as a response of that run had them");
  }
  return subscription;
}

}  // namespace millrace::service
