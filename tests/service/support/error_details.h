// The details of an error as a client reads them.
#pragma once

#include <grpcpp/support/status.h>

#include <string>
#include <vector>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace millrace::service {

struct ErrorDetails {
  google::rpc::ErrorInfo info;
  google::rpc::BadRequest bad_request;
  bool has_retry = false;
  /// Of ErrorInfo: there must be one.
  int infos = 0;
};

inline ErrorDetails DetailsOf(const grpc::Status& status) {
  google::rpc::Status message;
  message.ParseFromString(status.error_details());
  ErrorDetails details;
  for (const google::protobuf::Any& any : message.details()) {
    if (any.UnpackTo(&details.info)) ++details.infos;
    any.UnpackTo(&details.bad_request);
    details.has_retry = details.has_retry || any.Is<google::rpc::RetryInfo>();
  }
  return details;
}

inline std::string ReasonOf(const grpc::Status& status) { return DetailsOf(status).info.reason(); }

}  // namespace millrace::service
