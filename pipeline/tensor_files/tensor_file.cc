#include "pipeline/tensor_files/tensor_file.h"

#include <string_view>
#include <utility>

#include <ATen/core/Dict.h>
#include <ATen/core/ivalue.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/pickler.h>

#include "absl/strings/str_cat.h"
#include "base/atomic_file.h"
#include "base/exception_to_status.h"
#include "base/regular_file.h"
#include "base/status.h"
#include "pipeline/tensor_files/archive_error.h"
#include "pipeline/tensor_files/tensor_archive.h"

namespace millrace::pipeline {
namespace {

// Four billion numbers, because the file may also hold samples to learn from.
constexpr std::uint64_t kMaxBytes = std::uint64_t{16} << 30;

absl::Status NotTensors(const std::string& path, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat(
      path, " is no file of tensors (", why,
      "); write it with Python's torch.save({\"name\": tensor, ...}, \"", path, "\")"));
}

// The pickle of Python's torch.save(), and the bytes of its tensors.
void WriteArchive(const c10::IValue& dict, std::string& bytes) {
  std::string pickled;
  const auto tensor_id = [next = 0](const at::Tensor& /*tensor*/) mutable {
    return std::to_string(next++);
  };
  // Without TorchScript's type tags, which torch.load() refuses by default.
  torch::jit::Pickler pickler(
      [&](const char* data, std::size_t size) { pickled.append(data, size); },
      /*tensor_table=*/nullptr, /*type_renamer=*/nullptr, /*memoized_class_types=*/nullptr,
      tensor_id, /*tag_aggregates=*/false);
  pickler.protocol();
  pickler.pushIValue(dict);
  pickler.stop();

  caffe2::serialize::PyTorchStreamWriter writer([&](const void* data, std::size_t size) {
    bytes.append(static_cast<const char*>(data), size);
    return size;
  });
  writer.writeRecord("data.pkl", pickled.data(), pickled.size());
  constexpr std::string_view kByteOrder = "little";
  writer.writeRecord("byteorder", kByteOrder.data(), kByteOrder.size());
  int number = 0;
  for (const at::Tensor& tensor : pickler.tensorData()) {
    writer.writeRecord("data/" + std::to_string(number++), tensor.storage().data(),
                       tensor.storage().nbytes());
  }
  writer.writeEndOfFile();
}

}  // namespace

absl::StatusOr<NamedTensors> ReadTensors(const std::string& path) {
  MILLRACE_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path, kMaxBytes));
  return DecodeTensors(std::move(bytes), path);
}

absl::StatusOr<NamedTensors> DecodeTensors(std::string bytes, const std::string& path) {
  const auto decode = [&]() -> absl::StatusOr<NamedTensors> {
    NamedTensors tensors;
    const absl::StatusOr<c10::IValue> value = TensorArchive(std::move(bytes)).Read("data");
    if (!value.ok()) return NotTensors(path, std::string(value.status().message()));
    if (!value->isGenericDict()) return NotTensors(path, "it holds no dict");
    for (const auto& entry : value->toGenericDict()) {
      if (!entry.key().isString() || !entry.value().isTensor()) {
        return NotTensors(path, "something in its dict is no tensor, or has no name");
      }
      tensors.emplace_back(entry.key().toStringRef(), entry.value().toTensor());
    }
    return tensors;
  };
  return ExceptionToStatus(
      decode, [&](std::string_view text) { return NotTensors(path, ArchiveError(text)); });
}

absl::Status WriteTensors(const std::string& path, const NamedTensors& tensors) {
  c10::impl::GenericDict dict(c10::StringType::get(), c10::TensorType::get());
  for (const auto& [name, tensor] : tensors) {
    // A copy: a view would bring its whole storage.
    dict.insert(name, tensor.detach().to(at::kCPU).clone(at::MemoryFormat::Contiguous));
  }
  std::string bytes;
  WriteArchive(dict, bytes);
  return WriteFileAtomically(path, bytes);
}

}  // namespace millrace::pipeline
