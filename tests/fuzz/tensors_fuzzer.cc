// A stage's weights: read or refused, and the same if written and read again.
//
// Random bytes never pass the checksum. So the fuzzer first corrects the checksum: the reader
// behind it must be safe by itself, too.
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
