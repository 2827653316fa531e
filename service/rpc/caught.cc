#include "service/rpc/caught.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"

namespace millrace::service {

absl::Status Thrown(std::string_view where, std::string_view what) {
  spdlog::error("{} failed: {}", where, what);
  return absl::InternalError(absl::StrCat("this failed: ", std::string(what)));
}

}  // namespace millrace::service
