// A stream's entry as clients send it: read or refused field by field, shown without its login, and
// checked by the rules for clients' sources.
#include <string>

#include "base/error_reason.h"
#include "service/config/config.h"
#include "service/config/config_entry.h"
#include "service/registry/client_sources.h"
#include "tests/fuzz/fuzzer.h"

using namespace millrace;
using namespace millrace::service;

namespace {

constexpr char kCurrent[] =
    R"({"name":"gate","source":{"uri":"rtsp://me:word@10.0.0.7/1","user":"me"}})";

void Judge(const StreamConfig& stream) {
  const ClientSources rules = {.schemes = {"rtsp", "rtsps", "push", "test"},
                               .hosts = {"10.0.0.*", "*.example.org", "fd00::/8"}};
  const absl::Status allowed = AllowedForClients(stream, rules, kCurrent);
  Require(allowed.ok() || (absl::IsPermissionDenied(allowed) && !allowed.message().empty()),
          "what is not allowed is PERMISSION_DENIED, in words");
  Require(SameEntry(stream.entry, stream.entry), "an entry is the same as itself");
  Require(EtagOf(stream.entry) == EtagOf(stream.entry), "an etag stands for one entry");
  const std::string shown = ShownEntry(stream.entry);
  Require(ShownEntry(shown) == shown, "what is shown hides nothing more");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string completed = Completed(std::string(TextOf(data, size)), "gate", kCurrent);
  const absl::StatusOr<StreamConfig> stream = ParseStreamEntry(completed, "config", {});
  if (stream.ok()) {
    Judge(*stream);
    return 0;
  }
  Require(absl::IsInvalidArgument(stream.status()), "what is refused is INVALID_ARGUMENT");
  const auto violations = FieldViolationsOf(stream.status());
  Require(!violations.empty(), "what is refused names a field");
  for (const FieldViolation& violation : violations) {
    Require(violation.field.find("config") == 0 && !violation.description.empty(),
            "a field is one of the request's, and said to be wrong in words");
  }
  return 0;
}
