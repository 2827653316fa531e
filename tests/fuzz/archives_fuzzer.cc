// Files of torch.save() and TorchScript: each tensor has the bytes that its shape needs, or the
// file is refused.
//
// Random bytes are hardly ever a zip with correct checksums. So the fuzzer also makes a zip of
// them: the first byte is the size of a tensor's storage, the storage follows, and the rest is the
// pickle.
#include <algorithm>
#include <string>

#include <caffe2/serialize/inline_container.h>

#include "pipeline/tensor_files/tensor_archive.h"
#include "pipeline/tensor_files/tensor_file.h"
#include "tests/fuzz/fuzzer.h"

using namespace millrace;
using namespace millrace::pipeline;

namespace {

std::string ZipOf(std::string_view input) {
  if (input.empty()) return {};
  const auto count = static_cast<unsigned char>(input[0]);
  input.remove_prefix(1);
  const std::string_view storage = input.substr(0, std::min<std::size_t>(count, input.size()));
  const std::string_view pickle = input.substr(storage.size());
  std::string zip;
  caffe2::serialize::PyTorchStreamWriter writer([&](const void* data, std::size_t size) {
    zip.append(static_cast<const char*>(data), size);
    return size;
  });
  for (const std::string folder : {"data", "constants"}) {
    writer.writeRecord(folder + ".pkl", pickle.data(), pickle.size());
    writer.writeRecord(folder + "/0", storage.data(), storage.size());
  }
  writer.writeEndOfFile();
  return zip;
}

void Read(const std::string& bytes) {
  const absl::StatusOr<NamedTensors> tensors = DecodeTensors(bytes, "made-up.pt");
  if (!tensors.ok()) {
    Require(!tensors.status().message().empty(), "what is refused is so in words");
    return;
  }
  for (const auto& [name, tensor] : *tensors) {
    if (tensor.defined()) static_cast<void>(tensor.clone());  // Reads all of it.
  }
}

void ReadConstants(const std::string& bytes) {
  try {
    TensorArchive(bytes).Read("constants").IgnoreError();
  } catch (const std::exception&) {  // Callers catch LibTorch's exceptions.
  }
}

}  // namespace

// LibTorch loses some bytes of a zip that it refuses. And its errors find out where they were
// thrown, which takes and frees many times the memory.
extern "C" const char*
__asan_default_options() {  // NOLINT(readability-identifier-naming,bugprone-*)
  return "detect_leaks=0:quarantine_size_mb=16";
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Read(std::string(TextOf(data, size)));
  const std::string zip = ZipOf(TextOf(data, size));
  Read(zip);
  ReadConstants(zip);
  return 0;
}
