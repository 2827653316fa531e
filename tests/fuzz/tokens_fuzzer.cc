// The file of tokens: read or refused by line, and no message repeats the content of a line.
#include "service/access/tokens.h"

#include <string>

#include "tests/fuzz/fuzzer.h"

using namespace millrace;
using namespace millrace::service;

namespace {

constexpr std::string_view kKnown = "a-token-that-everybody-knows";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = TextOf(data, size);
  const absl::StatusOr<Tokens> tokens = Tokens::Parse(text, "tokens");
  if (!tokens.ok()) {
    Require(absl::IsInvalidArgument(tokens.status()), "what is refused is INVALID_ARGUMENT");
    Require(tokens.status().message().find(std::string(kKnown)) == std::string::npos,
            "a message repeats no token");
    return 0;
  }
  (void)tokens->RoleOf(text);
  Require(!tokens->RoleOf(kKnown) || text.find(kKnown) != std::string_view::npos,
          "a token that is not in the file is not known");
  return 0;
}
