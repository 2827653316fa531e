#include "pipeline/stages/tensor_message.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include <ATen/ops/empty.h>
#include <c10/core/ScalarType.h>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"

namespace millrace::pipeline {
namespace {

TensorForm FormOf(const at::Tensor& tensor) {
  if (!tensor.defined()) return {};
  MILLRACE_CHECK(tensor.is_cpu());
  return {.type = static_cast<int>(tensor.scalar_type()),
          .sizes = tensor.sizes().vec(),
          .strides = tensor.strides().vec()};
}

// As at::empty() aligns its memory: kernels may depend on it.
constexpr std::int64_t kAlignment = 64;

// From the first element to the last one in memory.
std::int64_t BytesOf(const TensorForm& form) {
  if (form.type == -1) return 0;
  const auto type = static_cast<at::ScalarType>(form.type);
  return form.Extent() * static_cast<std::int64_t>(c10::elementSize(type));
}

// Where the tensors of a message lie in its memory.
struct Layout {
  std::vector<std::int64_t> begins = {};  // By tensor, in bytes.
  std::int64_t bytes = 0;
  int tensors = 0;  // With memory.
};

Layout LayoutOf(const std::vector<TensorForm>& forms) {
  Layout layout;
  for (const TensorForm& form : forms) {
    layout.begins.push_back((layout.bytes + kAlignment - 1) / kAlignment * kAlignment);
    const std::int64_t bytes = BytesOf(form);
    if (bytes == 0) continue;
    layout.bytes = layout.begins.back() + bytes;
    ++layout.tensors;
  }
  return layout;
}

at::Tensor MemoryFor(const Layout& layout) {
  return at::empty({layout.bytes}, at::TensorOptions(at::kByte));
}

std::span<std::byte> AsBytes(const at::Tensor& memory) {
  return {static_cast<std::byte*>(memory.data_ptr()), static_cast<std::size_t>(memory.nbytes())};
}

bool IsPlainType(int type) {
  if (type < 0 || type >= static_cast<int>(at::ScalarType::NumOptions)) return false;
  const auto scalar = static_cast<at::ScalarType>(type);
  return at::isIntegralType(scalar, /*includeBool=*/true) || at::isFloatingType(scalar);
}

absl::Status Unexpected(const std::string& got, const std::string& wanted) {
  return absl::DataLossError(absl::StrCat("a message from another rank is ", got, ", not ", wanted,
                                          ": the ranks disagree on the plan"));
}

}  // namespace

OutgoingMessage::OutgoingMessage(const MessageRoute& route, TensorMessage message)
    : message_(std::move(message)), head_(std::make_unique<EncodedHead>()) {
  MessageHead head{.epoch = route.epoch,
                   .sample = message_.sample,
                   .kind = message_.kind,
                   .rate_scale = message_.rate_scale};
  if (message_.kind != MessageKind::kTensors) message_.tensors.clear();
  for (const at::Tensor& tensor : message_.tensors) head.tensors.push_back(FormOf(tensor));
  absl::StatusOr<EncodedHead> encoded = Encode(head);
  if (!encoded.ok()) {
    encoded_ = encoded.status();
    return;
  }
  *head_ = *encoded;
  transfers_.push_back(route.wires.Send(route.rank, route.tag, std::as_bytes(std::span(*head_))));
  const Layout layout = LayoutOf(head.tensors);
  if (layout.tensors == 0) return;
  if (layout.tensors > 1) memory_ = MemoryFor(layout);
  std::span<std::byte> bytes;
  for (std::size_t i = 0; i < head.tensors.size(); ++i) {
    const auto size = static_cast<std::size_t>(BytesOf(head.tensors[i]));
    if (size == 0) continue;
    bytes = {static_cast<std::byte*>(message_.tensors[i].data_ptr()), size};
    if (memory_.defined()) std::ranges::copy(bytes, AsBytes(memory_).data() + layout.begins[i]);
  }
  if (memory_.defined()) bytes = AsBytes(memory_);
  transfers_.push_back(route.wires.Send(route.rank, route.tag + 1, bytes));
}

absl::Status OutgoingMessage::Wait() {
  MILLRACE_RETURN_IF_ERROR(encoded_);
  for (const std::unique_ptr<WireTransfer>& transfer : transfers_) {
    MILLRACE_RETURN_IF_ERROR(transfer->Wait());
  }
  return absl::OkStatus();
}

IncomingMessage::IncomingMessage(const MessageRoute& route)
    : route_(route),
      head_(std::make_unique<EncodedHead>()),
      head_transfer_(
          route.wires.Receive(route.rank, route.tag, std::as_writable_bytes(std::span(*head_)))) {}

absl::StatusOr<MessageHead> IncomingMessage::WaitForHead() {
  MILLRACE_RETURN_IF_ERROR(head_transfer_->Wait());
  MILLRACE_ASSIGN_OR_RETURN(MessageHead head, DecodeHead(*head_));
  if (head.epoch == route_.epoch) return head;
  return Unexpected(absl::StrCat("of epoch ", head.epoch), absl::StrCat("of ", route_.epoch));
}

absl::StatusOr<TensorMessage> IncomingMessage::WaitForTensors(const MessageHead& head) {
  TensorMessage message{
      .sample = head.sample, .kind = head.kind, .rate_scale = head.rate_scale, .tensors = {}};
  for (const TensorForm& form : head.tensors) {
    if (form.type != -1 && !IsPlainType(form.type)) {
      return Unexpected(absl::StrCat("of tensors of type ", form.type), "of plain numbers");
    }
  }
  const Layout layout = LayoutOf(head.tensors);
  const at::Tensor memory = MemoryFor(layout);
  for (std::size_t i = 0; i < head.tensors.size(); ++i) {
    const TensorForm& form = head.tensors[i];
    message.tensors.emplace_back();
    if (form.type == -1) continue;
    const auto type = static_cast<at::ScalarType>(form.type);
    const auto first = layout.begins[i] / static_cast<std::int64_t>(c10::elementSize(type));
    message.tensors.back() = at::empty({0}, at::TensorOptions(type));
    message.tensors.back().set_(memory.storage(), first, form.sizes, form.strides);
  }
  if (layout.bytes == 0) return message;
  const auto received = route_.wires.Receive(route_.rank, route_.tag + 1, AsBytes(memory));
  MILLRACE_RETURN_IF_ERROR(received->Wait());
  return message;
}

absl::StatusOr<TensorMessage> IncomingMessage::Wait() {
  MILLRACE_ASSIGN_OR_RETURN(const MessageHead head, WaitForHead());
  return WaitForTensors(head);
}

absl::StatusOr<TensorMessage> IncomingMessage::Wait(std::int64_t sample, int tensors) {
  MILLRACE_ASSIGN_OR_RETURN(const MessageHead head, WaitForHead());
  if (head.sample != sample) {
    return Unexpected(absl::StrCat("for sample ", head.sample), absl::StrCat("for ", sample));
  }
  const int expected = head.kind == MessageKind::kInvalid ? 0 : tensors;
  if (static_cast<int>(head.tensors.size()) != expected) {
    return Unexpected(absl::StrCat("of ", head.tensors.size(), " tensors"),
                      absl::StrCat("of ", expected));
  }
  return WaitForTensors(head);
}

}  // namespace millrace::pipeline
