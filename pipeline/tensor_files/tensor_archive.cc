#include "pipeline/tensor_files/tensor_archive.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/class_type.h>
#include <caffe2/serialize/read_adapter_interface.h>
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/serialization/storage_context.h>
#include <torch/csrc/jit/serialization/unpickler.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "pipeline/tensor_files/pickle_check.h"

namespace millrace::pipeline {
namespace {

class Memory final : public caffe2::serialize::ReadAdapterInterface {
 public:
  explicit Memory(std::string bytes) : bytes_(std::move(bytes)) {}

  [[nodiscard]] std::size_t size() const override { return bytes_.size(); }
  std::size_t read(std::uint64_t from, void* to, std::size_t count,
                   const char* /*what*/) const override {
    if (from >= bytes_.size()) return 0;
    return bytes_.copy(static_cast<char*>(to), count, from);
  }

 private:
  const std::string bytes_;
};

// The type for a name in a pickle. Only containers keep their types.
c10::TypePtr TypeNamed(const std::string& name) {
  if (name.starts_with("List[")) return c10::ListType::create(c10::AnyType::get());
  if (name.starts_with("Dict[")) {
    return c10::DictType::create(c10::StringType::get(), c10::AnyType::get());
  }
  return c10::ClassType::create(c10::QualifiedName("__torch__.Unknown"), {});
}

c10::StrongTypePtr ResolvedType(const c10::QualifiedName& name) {
  return {nullptr, TypeNamed(name.qualifiedName())};
}

c10::intrusive_ptr<c10::ivalue::Object> HolderOf(const c10::StrongTypePtr& type,
                                                 const c10::IValue& state) {
  auto object = c10::ivalue::Object::create(type, 1);
  object->setSlot(0, state);
  return object;
}

// The bytes from a tensor's storage's start to the end of its last element; nullopt if invalid.
std::optional<std::uint64_t> BytesNeeded(const at::Tensor& tensor) {
  std::int64_t end = tensor.storage_offset();
  bool empty = false;
  bool sound = end >= 0;
  for (std::int64_t side = 0; side < tensor.dim(); ++side) {
    const std::int64_t size = tensor.sizes()[side];
    const std::int64_t stride = tensor.strides()[side];
    std::int64_t span = 0;
    sound = sound && size >= 0 && stride >= 0 &&
            !__builtin_mul_overflow(std::max<std::int64_t>(size - 1, 0), stride, &span) &&
            !__builtin_add_overflow(end, span, &end);
    empty = empty || size == 0;
  }
  sound = sound && !__builtin_add_overflow(end, 1, &end) &&
          !__builtin_mul_overflow(end, static_cast<std::int64_t>(tensor.itemsize()), &end);
  if (!sound) return std::nullopt;
  return empty ? 0 : static_cast<std::uint64_t>(end);
}

// The number of bytes that the file has for each storage, by memory address.
using BytesOfStorages = std::map<const void*, std::uint64_t>;

absl::Status CheckTensor(const at::Tensor& tensor, const BytesOfStorages& there) {
  if (!tensor.defined()) return absl::OkStatus();
  if (tensor.layout() != at::kStrided || tensor.is_quantized()) {
    return absl::InvalidArgumentError(
        "a tensor of it is quantized or sparse, which cannot learn; save it without");
  }
  const c10::Storage& storage = tensor.storage();
  const auto found = there.find(storage.data());
  const std::uint64_t has = found == there.end() ? 0 : found->second;
  const std::optional<std::uint64_t> needs = BytesNeeded(tensor);
  if (needs && *needs <= storage.nbytes() && storage.nbytes() <= has) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("its tensor of [", absl::StrJoin(tensor.sizes(), ", "),
                   "] has fewer bytes in the file (", has, ") than it needs (",
                   needs ? absl::StrCat(std::max<std::uint64_t>(*needs, storage.nbytes()))
                         : "no such shape can be",
                   "): the file was cut short or changed; copy it again"));
}

void AddParts(const c10::IValue& value, std::vector<c10::IValue>& parts) {
  const auto add = [&parts](const auto& values) {
    parts.insert(parts.end(), values.begin(), values.end());
  };
  if (value.isTuple()) add(value.toTupleRef().elements());
  if (value.isList()) add(value.toListRef());
  if (value.isObject()) add(value.toObjectRef().slots());
  if (!value.isGenericDict()) return;
  for (const auto& entry : value.toGenericDict()) {
    parts.push_back(entry.key());
    parts.push_back(entry.value());
  }
}

// A value may be contained in any number of others.
absl::Status CheckAll(const c10::IValue& root, const BytesOfStorages& there) {
  std::vector<c10::IValue> left = {root};
  std::set<const void*> seen;
  while (!left.empty()) {
    const c10::IValue value = std::move(left.back());
    left.pop_back();
    if (value.isTensor()) MILLRACE_RETURN_IF_ERROR(CheckTensor(value.toTensor(), there));
    if (value.isPtrType() && seen.insert(value.internalToPointer()).second) AddParts(value, left);
  }
  return absl::OkStatus();
}

}  // namespace

TensorArchive::TensorArchive(std::string bytes)
    : bytes_(std::make_shared<Memory>(std::move(bytes))), records_(bytes_) {}

absl::StatusOr<c10::IValue> TensorArchive::Read(const std::string& name) {
  std::size_t left = bytes_->size();
  const auto record = [this, &left](const std::string& called) {
    // PyTorch does not compress these. A few compressed bytes of zeros could fill all memory.
    const std::size_t needed = records_.getRecordSize(called);
    if (needed > left) throw std::length_error("its parts have more bytes than the file");
    left -= needed;
    return records_.getRecord(called);
  };
  const auto [data, size] = record(name + ".pkl");
  const std::string_view pickle(static_cast<const char*>(data.get()), size);
  MILLRACE_RETURN_IF_ERROR(CheckPickle(pickle));
  // LibTorch reads their scales before this code could check them.
  if (pickle.find("_rebuild_qtensor") != std::string_view::npos) {
    return absl::InvalidArgumentError("a tensor of it is quantized, which cannot learn");
  }
  std::size_t at = 0;
  const auto next = [&pickle, &at](char* to, std::size_t count) {
    const std::size_t copied = pickle.copy(to, count, at);
    at += copied;
    return copied;
  };
  BytesOfStorages there;
  const auto storage = [&](const std::string& key) {
    auto [bytes, count] = record(absl::StrCat(name, "/", key));
    there[bytes.get()] = count;
    return std::move(bytes);
  };
  // Views of one tensor share its storage, which is read once.
  torch::jit::Unpickler unpickler(next, ResolvedType, HolderOf, storage, at::kCPU,
                                  /*use_storage_device=*/false, TypeNamed,
                                  std::make_shared<torch::jit::DeserializationStorageContext>());
  unpickler.set_version(records_.version());
  c10::IValue value = unpickler.parse_ivalue();
  MILLRACE_RETURN_IF_ERROR(CheckAll(value, there));
  return value;
}

}  // namespace millrace::pipeline
