// google.protobuf.Struct, the wire's JSON.
#pragma once

#include <string>

#include "google/protobuf/struct.pb.h"

namespace millrace::service {

/// REQUIRES: `json` is an object.
[[nodiscard]] google::protobuf::Struct ToStruct(const std::string& json);
/// Whole numbers are written as such.
[[nodiscard]] std::string ToJson(const google::protobuf::Struct& object);

}  // namespace millrace::service
