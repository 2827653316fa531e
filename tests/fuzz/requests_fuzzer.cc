// Requests as bytes: if they are a message, the values that the services read from it.
//
// The first byte says which request it is.
#include <cmath>
#include <string>

#include "base/error_reason.h"
#include "millrace/v1/label_service.pb.h"
#include "millrace/v1/learner_service.pb.h"
#include "millrace/v1/stream_service.pb.h"
#include "service/config/config.h"
#include "service/config/config_entry.h"
#include "service/wire/wire_labels.h"
#include "service/wire/wire_learner.h"
#include "service/wire/wire_struct.h"
#include "tests/fuzz/fuzzer.h"

using namespace millrace;
using namespace millrace::service;

namespace {

template <typename Request>
bool Parse(std::string_view bytes, Request& request) {
  return request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

void Create(std::string_view bytes) {
  v1::CreateStreamRequest request;
  if (!Parse(bytes, request)) return;
  const absl::StatusOr<std::string> json = ToJson(request.config(), "config");
  if (!json.ok()) {
    Require(!FieldViolationsOf(json.status()).empty(), "what is refused names a field");
    return;
  }
  Require(SameEntry(*json, ToJson(ToStruct(*json), "config").value_or("")),
          "what goes to the wire and back is the same");
  (void)ParseStreamEntry(*json, "config", {});
}

void UpdateLearner(std::string_view bytes) {
  v1::UpdateLearnerRequest request;
  if (!Parse(bytes, request) || !request.learner().has_policy()) return;
  const auto policy = PolicyOf(request.learner().policy());
  if (!policy.ok()) {
    Require(!policy.status().message().empty(), "what is refused is so in words");
    return;
  }
  Require(policy->every >= 1 && std::isfinite(policy->difference), "a policy is one");
}

void AddLabels(std::string_view bytes) {
  v1::AddLabelsRequest request;
  if (!Parse(bytes, request)) return;
  for (const v1::FrameLabel& label : request.labels()) (void)ToLabel(label);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes = TextOf(data, size).substr(1);
  switch (data[0] % 3) {
    case 0:
      Create(bytes);
      break;
    case 1:
      UpdateLearner(bytes);
      break;
    default:
      AddLabels(bytes);
  }
  return 0;
}
