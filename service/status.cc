#include "service/status.h"

#include <string>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "service/error_reason.h"

namespace millrace::service {
namespace {

constexpr char kDomain[] = "millrace";

google::rpc::ErrorInfo InfoOf(const absl::Status& status) {
  google::rpc::ErrorInfo info;
  const std::string reason = ReasonOf(status);
  info.set_reason(reason.empty() ? absl::StatusCodeToString(status.code()) : reason);
  info.set_domain(kDomain);
  for (const auto& [name, value] : ValuesOf(status)) (*info.mutable_metadata())[name] = value;
  return info;
}

google::rpc::BadRequest BadRequestOf(const absl::Status& status) {
  google::rpc::BadRequest bad;
  for (const FieldViolation& violation : FieldViolationsOf(status)) {
    google::rpc::BadRequest::FieldViolation& field = *bad.add_field_violations();
    field.set_field(violation.field);
    field.set_description(violation.description);
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
  google::rpc::Status details;
  details.set_code(static_cast<int>(status.code()));
  details.set_message(std::string(status.message()));
  details.add_details()->PackFrom(InfoOf(status));
  const google::rpc::BadRequest bad = BadRequestOf(status);
  if (bad.field_violations_size() > 0) details.add_details()->PackFrom(bad);
  if (absl::IsUnavailable(status)) details.add_details()->PackFrom(RetryInASecond());
  return {static_cast<grpc::StatusCode>(status.code()), details.message(),
          details.SerializeAsString()};
}

}  // namespace millrace::service
