// A checkpoint's last file: read or refused, and the same if written again. As with tensors, the
// fuzzer also reads it with a corrected checksum.
#include <string>

#include "pipeline/checkpoint/checkpoint_manifest.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/put_right.h"

using namespace millrace;
using namespace millrace::pipeline;

namespace {

void Read(std::string_view text) {
  const absl::StatusOr<CheckpointManifest> manifest = DecodeManifest(text);
  if (!manifest.ok()) {
    Require(!manifest.status().message().empty(), "what is refused is so in words");
    return;
  }
  const std::string written = EncodeManifest(*manifest);
  const absl::StatusOr<CheckpointManifest> again = DecodeManifest(written);
  Require(again.ok(), "what was written can be read");
  Require(EncodeManifest(*again) == written, "it is written the same again");
  Require(DifferenceOf(again->network, manifest->network).empty(), "its network is the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Read(TextOf(data, size));
  Read(ManifestPutRight(TextOf(data, size)));
  return 0;
}
