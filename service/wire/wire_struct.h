// Converts between JSON and google.protobuf.Struct.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "google/protobuf/struct.pb.h"

namespace millrace::service {

/// REQUIRES: `json` is an object.
[[nodiscard]] google::protobuf::Struct ToStruct(const std::string& json);

/// `object` as JSON. Whole numbers have no fraction. INVALID_ARGUMENT if a number is not finite or
/// is beyond kMaxExact, where a double may have rounded it. The error has field violations
/// (error_reason.h) for the first such numbers. Their fields begin with `field`.
[[nodiscard]] absl::StatusOr<std::string> ToJson(const google::protobuf::Struct& object,
                                                 std::string_view field);

}  // namespace millrace::service
