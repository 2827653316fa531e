#include "service/rpc/guard.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace millrace::service {

absl::Status Guard::Admit(const grpc::CallbackServerContext& context,
                          std::string_view method) const {
  if (admission_ == nullptr) return absl::OkStatus();
  const std::string full_name = absl::StrCat(std::string(service_), "/", std::string(method));
  CallFacts call = {.method = full_name, .peer = context.peer(), .authorization = {}};
  const auto [first, last] = context.client_metadata().equal_range("authorization");
  for (auto entry = first; entry != last; ++entry) {
    call.authorization.emplace_back(entry->second.data(), entry->second.size());
  }
  return admission_->Admit(call);
}

}  // namespace millrace::service
