// LibTorch's operators on a GPU made of software: each is put into the current stream, to be done
// there by the operator for the CPU on the same memory. Making views, memory and copies is ours.
#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/EmptyTensor.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_native.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include "tests/pipeline/soft_gpu/memory.h"
#include "tests/pipeline/soft_gpu/soft_gpu.h"
#include "tests/pipeline/soft_gpu/streams.h"

namespace millrace::soft_gpu {
namespace {

using torch::jit::Stack;

std::int64_t StreamOf(const at::Tensor& tensor) { return CurrentStream(tensor.device().index()); }

// The same memory, for the host's operators. Does not keep it.
at::Tensor OnHost(const at::Tensor& tensor) {
  return at::from_blob(tensor.data_ptr(), tensor.sizes(), tensor.strides(),
                       at::TensorOptions().dtype(tensor.scalar_type()));
}

// A number of the host's goes along by value.
at::Tensor ByValue(const at::Tensor& number) {
  at::Tensor copy = number.clone();
  copy.unsafeGetTensorImpl()->set_wrapped_number(number.unsafeGetTensorImpl()->is_wrapped_number());
  return copy;
}

// The same argument, with what `made_of` makes of each of its tensors.
template <typename MadeOf>
c10::IValue WithTensors(const c10::IValue& value, const MadeOf& made_of) {
  if (value.isTensor()) return made_of(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(made_of(tensor));
    return list;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const auto& element : value.toOptionalTensorVector()) {
      list.push_back(element ? std::optional(made_of(*element)) : std::nullopt);
    }
    return list;
  }
  return value;
}

// The arguments of a call, as the host's operators take them.
class HostArguments {
 public:
  HostArguments(const c10::OperatorHandle& op, const Stack& given)
      : name_(op.schema().name() + "." + op.schema().overload_name()) {
    for (const c10::IValue& value : given) values_.push_back(Converted(value));
    TORCH_CHECK(device_, name_, ": which device?");
  }

  [[nodiscard]] const std::vector<c10::IValue>& values() const { return values_; }
  [[nodiscard]] at::Device device() const { return *device_; }
  /// Of the same shapes. Results' shapes follow from them; where they depend on the numbers, real
  /// GPUs make the host wait, and nothing here does that.
  [[nodiscard]] std::vector<c10::IValue> Zeros() const {
    std::vector<c10::IValue> zeros;
    for (const c10::IValue& value : values_) {
      zeros.push_back(WithTensors(value, [](const at::Tensor& tensor) {
        return tensor.defined() ? at::zeros_like(tensor) : tensor;
      }));
    }
    return zeros;
  }

 private:
  c10::IValue Converted(const c10::IValue& value) {
    if (value.isDevice()) return c10::Device(c10::kCPU);
    return WithTensors(value, [this](const at::Tensor& tensor) { return Converted(tensor); });
  }

  at::Tensor Converted(const at::Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    if (tensor.is_cpu()) {
      TORCH_CHECK(tensor.dim() == 0, name_, ": a tensor of the CPU among those of a GPU");
      return ByValue(tensor);
    }
    TORCH_CHECK(!device_ || *device_ == tensor.device(), name_, ": tensors of two GPUs");
    device_ = tensor.device();
    return OnHost(tensor);
  }

  std::string name_;
  std::vector<c10::IValue> values_;
  std::optional<at::Device> device_;
};

// An operator's `out` is a new tensor each time. Its content is then copied to the real `out`.
std::vector<c10::IValue> Call(const c10::OperatorHandle& op, std::vector<c10::IValue> arguments) {
  const at::AutoDispatchBelowADInplaceOrView no_graph;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!op.schema().arguments()[i].is_out()) continue;
    arguments[i] = at::empty({0}, arguments[i].toTensor().options());
  }
  // LibTorch reads what an operator with several `out`s gives back after it let go of them:
  // somebody has to hold them.
  Stack stack = arguments;
  op.callBoxed(&stack);
  return stack;
}

// Which argument a result is, if it is one that was written to.
std::optional<std::size_t> WrittenArgument(const c10::FunctionSchema& schema,
                                           const c10::Argument& result) {
  const c10::AliasInfo* const alias = result.alias_info();
  if (alias == nullptr) return std::nullopt;
  TORCH_CHECK(alias->isWrite(), schema.name(), " makes views: it has to be made one of ours");
  for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::AliasInfo* const of_argument = schema.arguments()[i].alias_info();
    if (of_argument != nullptr && of_argument->beforeSets() == alias->beforeSets()) return i;
  }
  return std::nullopt;
}

bool GivesNumbers(const c10::FunctionSchema& schema) {
  return std::ranges::any_of(schema.returns(), [](const c10::Argument& result) {
    return result.type()->kind() != c10::TypeKind::TensorType && result.alias_info() == nullptr;
  });
}

// Into memory of their own, or where an `out` says.
bool MakesTensors(const c10::FunctionSchema& schema) {
  return std::ranges::any_of(schema.returns(), [&](const c10::Argument& result) {
    const auto written = WrittenArgument(schema, result);
    return !written || schema.arguments()[*written].is_out();
  });
}

at::Tensor MadeLike(const at::Tensor& shape, at::Device device) {
  return at::empty_strided(shape.sizes(), shape.strides(),
                           at::TensorOptions().dtype(shape.scalar_type()).device(device));
}

// Results that were given have the shape that comes out, whatever they had.
void GiveShape(const at::Tensor& result, const at::Tensor& shape) {
  if (result.sizes() == shape.sizes()) return;
  const at::Tensor made = MadeLike(shape, result.device());
  c10::TensorImpl* const impl = result.unsafeGetTensorImpl();
  impl->set_storage_keep_dtype(made.storage());
  impl->set_sizes_and_strides(made.sizes(), made.strides());
}

// The results of a call, before it is done.
struct Results {
  std::vector<c10::IValue> values;
  /// The places of new results, as the host sees them.
  std::vector<std::pair<std::size_t, at::Tensor>> places;
};

Results ResultsOf(const c10::OperatorHandle& op, const HostArguments& arguments,
                  const Stack& given) {
  const c10::FunctionSchema& schema = op.schema();
  std::vector<c10::IValue> trial;
  if (MakesTensors(schema)) trial = Call(op, arguments.Zeros());
  Results results;
  for (std::size_t i = 0; i < schema.returns().size(); ++i) {
    const auto written = WrittenArgument(schema, schema.returns()[i]);
    if (written && !schema.arguments()[*written].is_out()) {
      results.values.push_back(given[*written]);
      continue;
    }
    const at::Tensor shape = trial.at(i).toTensor();
    at::Tensor result;
    if (written) {
      result = given[*written].toTensor();
      GiveShape(result, shape);
    } else if (shape.defined()) {
      result = MadeLike(shape, arguments.device());
    }
    if (result.defined()) results.places.emplace_back(i, OnHost(result));
    results.values.emplace_back(result);
  }
  return results;
}

// What gives numbers to the host makes it wait.
std::vector<c10::IValue> NumbersOf(const c10::OperatorHandle& op, const HostArguments& arguments) {
  Streams& streams = Streams::Get();
  streams.FinishStream(CurrentStream(arguments.device().index()));
  const std::lock_guard lock(streams.mutex());
  return Call(op, arguments.values());
}

void Fallback(const c10::OperatorHandle& op, Stack* stack) {
  const auto begin = stack->end() - static_cast<std::ptrdiff_t>(op.schema().arguments().size());
  const Stack given(begin, stack->end());
  stack->erase(begin, stack->end());
  const HostArguments arguments(op, given);
  std::vector<c10::IValue> values;
  if (GivesNumbers(op.schema())) {
    values = NumbersOf(op, arguments);
  } else {
    Results results = ResultsOf(op, arguments, given);
    values = std::move(results.values);
    Streams::Get().Put(CurrentStream(arguments.device().index()),
                       [op, arguments = arguments.values(), places = std::move(results.places)] {
                         const std::vector<c10::IValue> done = Call(op, arguments);
                         for (const auto& [place, result] : places) {
                           result.copy_(done.at(place).toTensor());
                         }
                       });
  }
  stack->insert(stack->end(), values.begin(), values.end());
}

// NOLINTNEXTLINE(readability-function-size): as PyTorch declares the operator.
at::Tensor Empty(at::IntArrayRef size, std::optional<at::ScalarType> type,
                 std::optional<at::Layout>, std::optional<at::Device> device, std::optional<bool>,
                 std::optional<at::MemoryFormat> format) {
  const c10::DeviceGuard guard(c10::device_or_default(device));
  return at::detail::empty_generic(size, Memory(), c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                   c10::dtype_or_default(type), format);
}

// NOLINTNEXTLINE(readability-function-size): as PyTorch declares the operator.
at::Tensor EmptyStrided(at::IntArrayRef size, at::IntArrayRef strides,
                        std::optional<at::ScalarType> type, std::optional<at::Layout>,
                        std::optional<at::Device> device, std::optional<bool>) {
  const c10::DeviceGuard guard(c10::device_or_default(device));
  return at::detail::empty_strided_generic(size, strides, Memory(),
                                           c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                           c10::dtype_or_default(type));
}

// `from` is the host's, or seen by it.
void PutCopy(std::int64_t stream, const at::Tensor& to, const at::Tensor& from) {
  Streams::Get().Put(stream, [to = OnHost(to), from] { (void)to.copy_(from); });
}

// As between real GPUs: in the stream of the one that reads, after and before what the other does.
void CopyAcross(const at::Tensor& to, const at::Tensor& from) {
  Streams& streams = Streams::Get();
  streams.Wait(StreamOf(from), streams.Here(StreamOf(to)));
  PutCopy(StreamOf(from), to, OnHost(from));
  streams.Wait(StreamOf(to), streams.Here(StreamOf(from)));
}

// Between pinned memory and a GPU, when the stream comes to it.
void CopyLater(const at::Tensor& to, const at::Tensor& from) {
  const at::Tensor& on_gpu = to.is_cpu() ? from : to;
  const at::Tensor& pinned = to.is_cpu() ? to : from;
  RecordStream(pinned.storage().data_ptr(), StreamOf(on_gpu));
  Streams::Get().Put(StreamOf(on_gpu),
                     [to = OnHost(to), from = OnHost(from)] { (void)to.copy_(from); });
}

bool IsPinnedTensor(const at::Tensor& tensor) {
  return tensor.is_cpu() && IsPinned(tensor.const_data_ptr());
}

at::Tensor& Copy(at::Tensor& to, const at::Tensor& from, bool non_blocking) {
  Streams& streams = Streams::Get();
  const at::AutoDispatchBelowADInplaceOrView no_graph;
  if (non_blocking && (IsPinnedTensor(to) || IsPinnedTensor(from))) {
    CopyLater(to, from);
  } else if (to.is_cpu()) {
    streams.FinishStream(StreamOf(from));
    const std::lock_guard lock(streams.mutex());
    to.copy_(OnHost(from));
  } else if (from.is_cpu()) {
    // Memory that is not pinned has been read when a copy returns; so it cannot be captured.
    TORCH_CHECK(!streams.recording(StreamOf(to)), "a copy from memory that is not pinned");
    PutCopy(StreamOf(to), to, from.clone());
  } else if (from.device() == to.device()) {
    PutCopy(StreamOf(to), to, OnHost(from));
  } else {
    CopyAcross(to, from);
  }
  return to;
}

void RecordStreamOf(at::Tensor& tensor, at::Stream stream) {
  RecordStream(tensor.storage().data_ptr(), NumberOf(stream));
}

at::Scalar Number(const at::Tensor& tensor) {
  Streams::Get().FinishStream(StreamOf(tensor));
  const std::lock_guard lock(Streams::Get().mutex());
  const at::AutoDispatchBelowADInplaceOrView no_graph;
  return OnHost(tensor).item();
}

}  // namespace

TORCH_LIBRARY_IMPL(_, CUDA, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&Fallback>());
}

TORCH_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("empty.memory_format", &Empty);
  m.impl("empty_strided", &EmptyStrided);
  m.impl("as_strided", &at::native::as_strided_tensorimpl);
  m.impl("view",
         static_cast<at::Tensor (*)(const at::Tensor&, at::IntArrayRef)>(&at::native::view));
  m.impl("_reshape_alias", &at::native::_reshape_alias);
  m.impl("unfold", &at::native::unfold);
  m.impl("copy_", &Copy);
  m.impl("record_stream", &RecordStreamOf);
  m.impl("_local_scalar_dense", &Number);
}

}  // namespace millrace::soft_gpu
