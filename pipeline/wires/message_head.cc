#include "pipeline/wires/message_head.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace millrace::pipeline {
namespace {

// "Millrace", and the version of this format.
constexpr std::int64_t kMagic = 0x4d696c6c72616302;
constexpr std::int64_t kMaxDimensions = 64;
constexpr std::int64_t kMaxElements = std::int64_t{1} << 34;

// Numbers in a row.
class Writer {
 public:
  explicit Writer(EncodedHead& encoded) : encoded_(encoded) {}
  void Add(std::int64_t value) {
    if (used_ < encoded_.size()) encoded_[used_] = value;
    ++used_;
  }
  [[nodiscard]] bool fits() const { return used_ <= encoded_.size(); }

 private:
  EncodedHead& encoded_;
  std::size_t used_ = 0;
};

class Reader {
 public:
  explicit Reader(const EncodedHead& encoded) : encoded_(encoded) {}
  // The next number, if it is from `min` to `max`; otherwise 0, and ok() is false.
  std::int64_t Next(std::int64_t min, std::int64_t max) {
    if (used_ == encoded_.size() || encoded_[used_] < min || encoded_[used_] > max) {
      ok_ = false;
      return 0;
    }
    return encoded_[used_++];
  }
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  const EncodedHead& encoded_;
  std::size_t used_ = 0;
  bool ok_ = true;
};

// The sum stays in range: each term is checked before it is added.
bool ExtentIsInRange(const TensorForm& form) {
  std::int64_t extent = 1;
  for (std::size_t i = 0; i < form.sizes.size(); ++i) {
    if (form.sizes[i] == 0) return true;
    if (form.strides[i] > 0 && form.sizes[i] - 1 > kMaxElements / form.strides[i]) return false;
    extent += (form.sizes[i] - 1) * form.strides[i];
    if (extent > kMaxElements) return false;
  }
  return true;
}

TensorForm NextForm(Reader& reader) {
  TensorForm form{.type = static_cast<int>(reader.Next(-1, 127))};
  const std::int64_t dimensions = reader.Next(0, kMaxDimensions);
  for (auto* list : {&form.sizes, &form.strides}) {
    for (std::int64_t i = 0; i < dimensions && reader.ok(); ++i) {
      list->push_back(reader.Next(0, kMaxElements));
    }
  }
  return form;
}

absl::Status Damaged(std::string_view why) {
  return absl::DataLossError(
      absl::StrCat("the head of a message from another rank is damaged: ", std::string(why)));
}

}  // namespace

std::int64_t TensorForm::Extent() const {
  if (std::ranges::find(sizes, 0) != sizes.end()) return 0;
  std::int64_t extent = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) extent += (sizes[i] - 1) * strides[i];
  return extent;
}

absl::StatusOr<EncodedHead> Encode(const MessageHead& head) {
  EncodedHead encoded{};
  Writer writer(encoded);
  writer.Add(kMagic);
  writer.Add(head.epoch);
  writer.Add(head.sample);
  writer.Add(static_cast<std::int64_t>(head.kind));
  writer.Add(std::bit_cast<std::int64_t>(head.rate_scale));
  writer.Add(static_cast<std::int64_t>(head.tensors.size()));
  for (const TensorForm& form : head.tensors) {
    writer.Add(form.type);
    writer.Add(static_cast<std::int64_t>(form.sizes.size()));
    for (const std::int64_t size : form.sizes) writer.Add(size);
    for (const std::int64_t stride : form.strides) writer.Add(stride);
  }
  if (writer.fits()) return encoded;
  return absl::ResourceExhaustedError(
      absl::StrCat(head.tensors.size(), " tensors between two stages are too many for the head of ",
                   "one message: cut the network elsewhere"));
}

absl::StatusOr<MessageHead> DecodeHead(const EncodedHead& encoded) {
  constexpr std::int64_t kAny = INT64_MAX;
  Reader reader(encoded);
  if (reader.Next(INT64_MIN, kAny) != kMagic) {
    return Damaged("it is of another program, or of another version of this one");
  }
  MessageHead head{.epoch = reader.Next(0, kAny), .sample = reader.Next(0, kAny)};
  head.kind = static_cast<MessageKind>(reader.Next(0, static_cast<int>(MessageKind::kSwitch)));
  // The numbers of the doubles from 0 to the largest finite one are in order.
  constexpr auto kMax = std::bit_cast<std::int64_t>(std::numeric_limits<double>::max());
  head.rate_scale = std::bit_cast<double>(reader.Next(0, kMax));
  const std::int64_t tensors = reader.Next(0, static_cast<std::int64_t>(encoded.size()));
  for (std::int64_t i = 0; i < tensors && reader.ok(); ++i) {
    head.tensors.push_back(NextForm(reader));
  }
  if (!reader.ok()) return Damaged("a number is out of range");
  if (!std::ranges::all_of(head.tensors, ExtentIsInRange)) return Damaged("a tensor is too large");
  return head;
}

}  // namespace millrace::pipeline
