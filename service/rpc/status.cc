#include "service/rpc/status.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error_reason.h"
#include "base/truncate.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace millrace::service {
namespace {

constexpr char kDomain[] = "millrace";

// An error travels in headers: its percent-encoded message, and its details in base64, which repeat
// the message because clients compare the two. If the headers exceed 8 KiB together, clients see
// only RESOURCE_EXHAUSTED. With these limits an error stays below 6.5 KiB.
constexpr std::size_t kMaxMessage = 1024;
constexpr std::size_t kMaxViolations = 2000;
constexpr std::size_t kMaxDescription = 300;
constexpr std::size_t kMaxName = 150;

google::rpc::ErrorInfo InfoOf(const absl::Status& status) {
  google::rpc::ErrorInfo info;
  const std::string reason = ReasonOf(status);
  info.set_reason(reason.empty() ? absl::StatusCodeToString(status.code()) : reason);
  info.set_domain(kDomain);
  for (const auto& [name, value] : ValuesOf(status)) {
    (*info.mutable_metadata())[name] = Truncated(value, kMaxName);
  }
  return info;
}

google::rpc::BadRequest BadRequestOf(const std::vector<FieldViolation>& violations) {
  google::rpc::BadRequest bad;
  for (const FieldViolation& violation : violations) {
    google::rpc::BadRequest::FieldViolation field;
    field.set_field(Truncated(violation.field, kMaxName));
    field.set_description(Truncated(violation.description, kMaxDescription));
    if (bad.ByteSizeLong() + field.ByteSizeLong() > kMaxViolations) break;
    *bad.add_field_violations() = std::move(field);
  }
  return bad;
}

google::rpc::RetryInfo RetryInASecond() {
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(1);
  return retry;
}

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const std::vector<FieldViolation> violations = FieldViolationsOf(status);
  const google::rpc::BadRequest bad = BadRequestOf(violations);
  const std::size_t left_out = violations.size() - bad.field_violations_size();
  google::rpc::ErrorInfo info = InfoOf(status);
  if (left_out > 0) (*info.mutable_metadata())["violations_left_out"] = absl::StrCat(left_out);
  google::rpc::Status details;
  details.set_code(static_cast<int>(status.code()));
  details.set_message(Truncated(std::string(status.message()), kMaxMessage));
  details.add_details()->PackFrom(info);
  if (!violations.empty()) details.add_details()->PackFrom(bad);
  if (absl::IsUnavailable(status)) details.add_details()->PackFrom(RetryInASecond());
  return {static_cast<grpc::StatusCode>(status.code()), details.message(),
          details.SerializeAsString()};
}

}  // namespace millrace::service
