#include "pipeline/stages/tensor_message.h"

#include <span>
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

// From the first element to the last one in memory.
std::span<std::byte> MemoryOf(const at::Tensor& tensor, std::int64_t extent) {
  return {static_cast<std::byte*>(tensor.data_ptr()),
          static_cast<std::size_t>(extent) * tensor.element_size()};
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
  for (std::size_t i = 0; i < head.tensors.size(); ++i) {
    if (!message_.tensors[i].defined()) continue;
    const auto bytes = MemoryOf(message_.tensors[i], head.tensors[i].Extent());
    if (bytes.empty()) continue;
    transfers_.push_back(route.wires.Send(route.rank, route.tag + 1, bytes));
  }
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
  // Destroyed before the tensors that they fill.
  std::vector<std::unique_ptr<WireTransfer>> transfers;
  for (const TensorForm& form : head.tensors) {
    message.tensors.emplace_back();
    if (form.type == -1) continue;
    if (!IsPlainType(form.type)) {
      return Unexpected(absl::StrCat("of tensors of type ", form.type), "of plain numbers");
    }
    const at::Tensor memory =
        at::empty({form.Extent()}, at::TensorOptions(static_cast<at::ScalarType>(form.type)));
    message.tensors.back() = memory.as_strided(form.sizes, form.strides);
    const auto bytes = MemoryOf(memory, form.Extent());
    if (bytes.empty()) continue;
    transfers.push_back(route_.wires.Receive(route_.rank, route_.tag + 1, bytes));
  }
  for (const std::unique_ptr<WireTransfer>& transfer : transfers) {
    MILLRACE_RETURN_IF_ERROR(transfer->Wait());
  }
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
