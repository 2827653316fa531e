#include "service/wire/wire_struct.h"

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/error_reason.h"
#include "google/protobuf/util/json_util.h"
#include "service/config/config_entry.h"

namespace millrace::service {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

/// Finds numbers in a client's Struct that may be inexact. Notes at most kMaxNoted of them,
/// because each note repeats the client's keys, which may be long.
class NumberCheck {
 public:
  /// `field`: the name of the Struct.
  explicit NumberCheck(std::string_view field) : path_(field) {}

  void Check(const Struct& object) {
    for (const auto& [key, value] : object.fields()) CheckWithin(absl::StrCat(".", key), value);
  }

  [[nodiscard]] const std::vector<FieldViolation>& wrong() const { return wrong_; }

 private:
  void CheckWithin(std::string_view step, const Value& value) {
    const std::size_t here = path_.size();
    path_.append(step);
    Check(value);
    path_.resize(here);
  }

  void Check(const Value& value) {
    if (value.has_struct_value()) return Check(value.struct_value());
    if (value.has_number_value()) return Check(value.number_value());
    for (int i = 0; i < value.list_value().values_size(); ++i) {
      CheckWithin(absl::StrCat("[", i, "]"), value.list_value().values(i));
    }
  }

  void Check(double number) {
    if (wrong_.size() == kMaxNoted) return;
    if (!std::isfinite(number)) {
      wrong_.push_back({path_, "is not a finite number"});
    } else if (std::abs(number) > static_cast<double>(kMaxExact)) {
      wrong_.push_back({path_, absl::StrCat("is beyond ", kMaxExact,
                                            ", where numbers are rounded on their way; write it as "
                                            "text, in quotes")});
    }
  }

  static constexpr std::size_t kMaxNoted = 20;

  std::string path_;  // The path of the current value.
  std::vector<FieldViolation> wrong_;
};

}  // namespace

Struct ToStruct(const std::string& json) {
  Struct object;
  MILLRACE_CHECK(google::protobuf::util::JsonStringToMessage(json, &object).ok());
  return object;
}

absl::StatusOr<std::string> ToJson(const Struct& object, std::string_view field) {
  NumberCheck numbers(field);
  numbers.Check(object);
  if (!numbers.wrong().empty()) return InvalidFields(numbers.wrong());
  std::string json;
  // A Value without a kind has no JSON form. It becomes an empty object, which no key accepts.
  if (!google::protobuf::util::MessageToJsonString(object, &json).ok()) return "{}";
  return json;
}

}  // namespace millrace::service
