#include "service/wire_struct.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "google/protobuf/util/json_util.h"
#include "service/config_entry.h"
#include "service/error_reason.h"

namespace millrace::service {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

/// Notes every number in a client's Struct that cannot be taken at its word.
class NumberCheck {
 public:
  void Check(const Struct& object, const std::string& field) {
    for (const auto& [key, value] : object.fields()) Check(value, absl::StrCat(field, ".", key));
  }

  [[nodiscard]] const std::vector<FieldViolation>& wrong() const { return wrong_; }

 private:
  void Check(const Value& value, const std::string& field) {
    if (value.has_struct_value()) return Check(value.struct_value(), field);
    if (value.has_number_value()) return Check(value.number_value(), field);
    for (int i = 0; i < value.list_value().values_size(); ++i) {
      Check(value.list_value().values(i), absl::StrCat(field, "[", i, "]"));
    }
  }

  void Check(double number, const std::string& field) {
    if (!std::isfinite(number)) {
      wrong_.push_back({field, "is not a finite number"});
    } else if (std::abs(number) > static_cast<double>(kMostExact)) {
      wrong_.push_back({field, absl::StrCat("is beyond ", kMostExact,
                                            ", where numbers are rounded on their way; write it as "
                                            "text, in quotes")});
    }
  }

  std::vector<FieldViolation> wrong_;
};

}  // namespace

Struct ToStruct(const std::string& json) {
  Struct object;
  MILLRACE_CHECK(google::protobuf::util::JsonStringToMessage(json, &object).ok());
  return object;
}

absl::StatusOr<std::string> ToJson(const Struct& object, std::string_view field) {
  NumberCheck numbers;
  numbers.Check(object, std::string(field));
  if (!numbers.wrong().empty()) return InvalidFields(numbers.wrong());
  std::string json;
  // A value of no kind at all has no JSON: it is left as nothing, which no key takes.
  if (!google::protobuf::util::MessageToJsonString(object, &json).ok()) return "{}";
  return json;
}

}  // namespace millrace::service
