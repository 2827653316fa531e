#include "pipeline/stages/tensor_message.h"

#include <algorithm>
#include <cstring>
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
};

Layout LayoutOf(const std::vector<TensorForm>& forms) {
  Layout layout;
  for (const TensorForm& form : forms) {
    layout.begins.push_back((layout.bytes + kAlignment - 1) / kAlignment * kAlignment);
    const std::int64_t bytes = BytesOf(form);
    if (bytes == 0) continue;
    layout.bytes = layout.begins.back() + bytes;
  }
  return layout;
}

constexpr auto kHeadBytes = static_cast<std::int64_t>(sizeof(EncodedHead));
static_assert(kHeadBytes % kAlignment == 0);

at::Tensor MemoryOf(std::int64_t bytes) { return at::empty({bytes}, at::TensorOptions(at::kByte)); }

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

absl::Status OutgoingMessage::Wait() {
  MILLRACE_RETURN_IF_ERROR(encoded_);
  for (const std::unique_ptr<WireTransfer>& transfer : transfers_) {
    MILLRACE_RETURN_IF_ERROR(transfer->Wait());
  }
  return absl::OkStatus();
}

OutgoingMessage TensorSender::Send(const TensorMessage& message) {
  OutgoingMessage outgoing;
  MessageHead head{.epoch = route_.epoch,
                   .sample = message.sample,
                   .kind = message.kind,
                   .rate_scale = message.rate_scale};
  if (message.kind == MessageKind::kTensors) {
    for (const at::Tensor& tensor : message.tensors) head.tensors.push_back(FormOf(tensor));
  }
  const absl::StatusOr<EncodedHead> encoded = Encode(head);
  if (!encoded.ok()) {
    outgoing.encoded_ = encoded.status();
    return outgoing;
  }
  const Layout layout = LayoutOf(head.tensors);
  outgoing.memory_ = MemoryOf(kHeadBytes + layout.bytes);
  const std::span<std::byte> all = AsBytes(outgoing.memory_);
  const std::span<std::byte> of_head = all.first(kHeadBytes);
  const std::span<std::byte> of_tensors = all.subspan(kHeadBytes);
  std::ranges::copy(std::as_bytes(std::span(*encoded)), of_head.begin());
  for (std::size_t i = 0; i < head.tensors.size(); ++i) {
    const auto size = static_cast<std::size_t>(BytesOf(head.tensors[i]));
    if (size == 0) continue;
    const auto* const from = static_cast<const std::byte*>(message.tensors[i].data_ptr());
    std::memcpy(of_tensors.data() + layout.begins[i], from, size);
  }
  const auto begin = [&](int tag, std::span<const std::byte> bytes) {
    sent_ += static_cast<std::int64_t>(bytes.size());
    outgoing.transfers_.push_back(route_.wires.Send(route_.rank, tag, bytes));
  };
  if (layout.bytes == 0 || layout.bytes == usual_bytes_) {
    begin(route_.tag, all);
    return outgoing;
  }
  begin(route_.tag, of_head);
  begin(route_.tag + 1, of_tensors);
  usual_bytes_ = layout.bytes;
  return outgoing;
}

TensorReceiver::TensorReceiver(const MessageRoute& route) : route_(route) { Begin(); }

void TensorReceiver::Begin() {
  memory_ = MemoryOf(kHeadBytes + usual_bytes_);
  transfer_ = route_.wires.Receive(route_.rank, route_.tag, AsBytes(memory_));
}

absl::StatusOr<MessageHead> TensorReceiver::WaitForHead() {
  MILLRACE_RETURN_IF_ERROR(transfer_->Wait());
  EncodedHead encoded;
  std::memcpy(encoded.data(), memory_.data_ptr(), sizeof(encoded));
  MILLRACE_ASSIGN_OR_RETURN(MessageHead head, DecodeHead(encoded));
  if (head.epoch == route_.epoch) return head;
  return Unexpected(absl::StrCat("of epoch ", head.epoch), absl::StrCat("of ", route_.epoch));
}

absl::StatusOr<TensorMessage> TensorReceiver::WaitForTensors(const MessageHead& head) {
  TensorMessage message{
      .sample = head.sample, .kind = head.kind, .rate_scale = head.rate_scale, .tensors = {}};
  for (const TensorForm& form : head.tensors) {
    if (form.type != -1 && !IsPlainType(form.type)) {
      return Unexpected(absl::StrCat("of tensors of type ", form.type), "of plain numbers");
    }
  }
  const Layout layout = LayoutOf(head.tensors);
  at::Tensor memory = memory_;
  std::int64_t begin = kHeadBytes;
  if (layout.bytes > 0 && layout.bytes != usual_bytes_) {
    memory = MemoryOf(layout.bytes);
    begin = 0;
    const auto apart = route_.wires.Receive(route_.rank, route_.tag + 1, AsBytes(memory));
    MILLRACE_RETURN_IF_ERROR(apart->Wait());
    usual_bytes_ = layout.bytes;
  }
  for (std::size_t i = 0; i < head.tensors.size(); ++i) {
    const TensorForm& form = head.tensors[i];
    message.tensors.emplace_back();
    if (form.type == -1) continue;
    const auto type = static_cast<at::ScalarType>(form.type);
    const auto element = static_cast<std::int64_t>(c10::elementSize(type));
    message.tensors.back() = at::empty({0}, at::TensorOptions(type));
    message.tensors.back().set_(memory.storage(), (begin + layout.begins[i]) / element, form.sizes,
                                form.strides);
  }
  if (head.kind != MessageKind::kEnd) Begin();
  return message;
}

absl::StatusOr<TensorMessage> TensorReceiver::Next() {
  MILLRACE_ASSIGN_OR_RETURN(const MessageHead head, WaitForHead());
  return WaitForTensors(head);
}

absl::StatusOr<TensorMessage> TensorReceiver::Next(std::int64_t sample, int tensors) {
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

TensorSender& MessageRoutes::To(const MessageRoute& route) {
  return to_.try_emplace(Key(route.rank, route.tag), route, sent_->at(route.rank)).first->second;
}

TensorReceiver& MessageRoutes::From(const MessageRoute& route) {
  return from_.try_emplace(Key(route.rank, route.tag), route).first->second;
}

}  // namespace millrace::pipeline
