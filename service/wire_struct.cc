#include "service/wire_struct.h"

#include "base/check.h"
#include "google/protobuf/util/json_util.h"

namespace millrace::service {

google::protobuf::Struct ToStruct(const std::string& json) {
  google::protobuf::Struct object;
  MILLRACE_CHECK(google::protobuf::util::JsonStringToMessage(json, &object).ok());
  return object;
}

std::string ToJson(const google::protobuf::Struct& object) {
  std::string json;
  // A number that is not finite has no JSON: it is left as nothing, which no key takes.
  if (!google::protobuf::util::MessageToJsonString(object, &json).ok()) return "{}";
  return json;
}

}  // namespace millrace::service
