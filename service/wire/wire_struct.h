// google.protobuf.Struct, the wire's JSON.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "google/protobuf/struct.pb.h"

namespace millrace::service {

/// REQUIRES: `json` is an object.
[[nodiscard]] google::protobuf::Struct ToStruct(const std::string& json);

/// Whole numbers are written as such. A number that says nothing certain, because it is not finite,
/// or so great that it may have been rounded to the next double on its way (beyond kMostExact), is
/// INVALID_ARGUMENT with a field violation for each (error_reason.h), whose fields begin with
/// `field`.
[[nodiscard]] absl::StatusOr<std::string> ToJson(const google::protobuf::Struct& object,
                                                 std::string_view field);

}  // namespace millrace::service
