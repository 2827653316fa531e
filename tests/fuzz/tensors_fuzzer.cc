// A stage's weights: read or refused, and what is read is written and read the same.
//
// A checksum guards the bytes, which nothing that is made up would pass. So it is put right first:
// what is behind it must hold by itself, too.
#include <string>

#include "pipeline/tensor_files/safetensors.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/put_right.h"

using namespace millrace;
using namespace millrace::pipeline;

namespace {

void Read(std::string_view bytes) {
  const absl::StatusOr<SafeTensors> content = DecodeSafeTensors(bytes);
  if (!content.ok()) {
    Require(!content.status().message().empty(), "what is refused is so in words");
    return;
  }
  const std::string written = EncodeSafeTensors(*content);
  const absl::StatusOr<SafeTensors> again = DecodeSafeTensors(written);
  Require(again.ok(), "what was written can be read");
  Require(EncodeSafeTensors(*again) == written, "it is written the same again");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Read(TextOf(data, size));
  Read(TensorsPutRight(TextOf(data, size)));
  return 0;
}
