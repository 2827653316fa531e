#include "pipeline/tensor_files/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/ops/empty.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "pipeline/checkpoint/checksum.h"
#include "pipeline/checkpoint/shallow_json.h"

namespace millrace::pipeline {
namespace {

using Json = nlohmann::json;
static_assert(std::endian::native == std::endian::little, "safetensors is little-endian");

constexpr char kMetadata[] = "__metadata__";
constexpr char kChecksum[] = "checksum";
constexpr std::size_t kLengthBytes = sizeof(std::uint64_t);
constexpr std::array<std::pair<std::string_view, at::ScalarType>, 4> kTypes = {
    {{"F32", at::kFloat}, {"F64", at::kDouble}, {"I64", at::kLong}, {"U8", at::kByte}}};

std::string NameOf(at::ScalarType type) {
  const auto* const found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& t) { return t.second == type; });
  MILLRACE_CHECK(found != kTypes.end());
  return std::string(found->first);
}

absl::Status Damaged(std::string_view what) { return absl::DataLossError(std::string(what)); }

struct Parts {
  Json header;
  std::string_view data;
};

absl::StatusOr<Parts> Split(std::string_view bytes) {
  std::uint64_t length = 0;
  if (bytes.size() < kLengthBytes) return Damaged("it is too short");
  std::memcpy(&length, bytes.data(), kLengthBytes);
  bytes.remove_prefix(kLengthBytes);
  if (length > bytes.size()) return Damaged("its header is cut off");
  const std::string_view text = bytes.substr(0, length);
  Json header = ParseShallow(text);
  // The parser stops at a NUL and would ignore all bytes after it.
  if (!header.is_object() || text.find('\0') != std::string_view::npos) {
    return Damaged("its header cannot be read");
  }
  return Parts{std::move(header), bytes.substr(length)};
}

// A checksum of the data and of the header without its checksum field.
std::string ChecksumOf(const Json& header, const std::string& checksum_of_data) {
  return Checksum(absl::StrCat(header.dump(), checksum_of_data));
}

// Moves the metadata out of the header and leaves the tensors.
absl::StatusOr<std::map<std::string, std::string>> TakeMetadata(Parts& parts) {
  const auto found = parts.header.find(kMetadata);
  if (found == parts.header.end() || !found->is_object() || !found->contains(kChecksum)) {
    return absl::FailedPreconditionError("it was not made by millrace");
  }
  const Json checksum = found->at(kChecksum);
  found->erase(kChecksum);
  const std::string of_data = Checksum(parts.data);
  // Earlier files have the checksum of the data alone.
  if (checksum != ChecksumOf(parts.header, of_data) && checksum != of_data) {
    return Damaged("its checksum is wrong");
  }
  std::map<std::string, std::string> metadata;
  for (const auto& [name, value] : found->items()) {
    if (value.is_string()) metadata[name] = value.get<std::string>();
  }
  parts.header.erase(found);
  return metadata;
}

// A tensor's type, shape and position in the data.
struct Entry {
  std::string name;
  at::ScalarType type = at::kFloat;
  std::vector<std::int64_t> shape;
  std::size_t begin = 0;
  std::size_t end = 0;
};

// The size of the tensor in bytes; nullopt if it overflows.
std::optional<std::size_t> BytesOf(const Entry& entry) {
  auto bytes = static_cast<std::int64_t>(c10::elementSize(entry.type));
  bool empty = false;
  for (std::int64_t side : entry.shape) {
    if (side < 0) return std::nullopt;  // Too large for a signed number.
    empty = empty || side == 0;
    // Strides treat a side of 0 as 1, and must not overflow either.
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(side, 1), &bytes)) return std::nullopt;
  }
  return empty ? 0 : static_cast<std::size_t>(bytes);
}

absl::StatusOr<Entry> ReadEntry(const std::string& name, const Json& value, std::size_t data) {
  absl::Status damaged = Damaged(absl::StrCat("its header does not say what \"", name, "\" is"));
  if (!value.is_object()) return damaged;
  const Json type = value.value("dtype", Json());
  const Json shape = value.value("shape", Json());
  const Json offsets = value.value("data_offsets", Json());
  const auto whole = [](const Json& number) { return number.is_number_unsigned(); };
  const auto* const known = std::find_if(
      kTypes.begin(), kTypes.end(), [&](const auto& t) { return type == std::string(t.first); });
  const bool sound = known != kTypes.end() && shape.is_array() &&
                     std::all_of(shape.begin(), shape.end(), whole) && offsets.is_array() &&
                     offsets.size() == 2 && std::all_of(offsets.begin(), offsets.end(), whole);
  if (!sound) return damaged;
  Entry entry{.name = name,
              .type = known->second,
              .shape = shape.get<std::vector<std::int64_t>>(),
              .begin = offsets[0].get<std::size_t>(),
              .end = offsets[1].get<std::size_t>()};
  if (entry.begin > entry.end || entry.end > data || BytesOf(entry) != entry.end - entry.begin) {
    return Damaged(absl::StrCat("\"", name, "\" does not lie where its header says"));
  }
  return entry;
}

}  // namespace

std::string EncodeSafeTensors(const SafeTensors& content) {
  Json header = Json::object();
  std::string data;
  for (const auto& [name, tensor] : content.tensors) {
    MILLRACE_CHECK(tensor.is_cpu() && !header.contains(name));
    const std::size_t begin = data.size();
    const at::Tensor plain = tensor.detach().contiguous();
    data.append(static_cast<const char*>(plain.const_data_ptr()), plain.nbytes());
    header[name] = {{"dtype", NameOf(plain.scalar_type())},
                    {"shape", plain.sizes().vec()},
                    {"data_offsets", {begin, data.size()}}};
  }
  MILLRACE_CHECK(!content.metadata.contains(kChecksum));
  header[kMetadata] = content.metadata;
  const std::string checksum = ChecksumOf(header, Checksum(data));
  header[kMetadata][kChecksum] = checksum;
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // Aligns the data, as the format requires.
  const std::uint64_t length = text.size();
  std::string bytes(reinterpret_cast<const char*>(&length), kLengthBytes);
  bytes += text;
  bytes += data;
  return bytes;
}

absl::StatusOr<SafeTensors> DecodeSafeTensors(std::string_view bytes) {
  MILLRACE_ASSIGN_OR_RETURN(Parts parts, Split(bytes));
  SafeTensors content;
  MILLRACE_ASSIGN_OR_RETURN(content.metadata, TakeMetadata(parts));
  std::vector<Entry> entries;
  for (const auto& [name, value] : parts.header.items()) {
    MILLRACE_ASSIGN_OR_RETURN(Entry entry, ReadEntry(name, value, parts.data.size()));
    entries.push_back(std::move(entry));
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.begin < b.begin; });
  for (const Entry& entry : entries) {
    const at::Tensor tensor = at::empty(entry.shape, entry.type);
    if (tensor.numel() > 0) {  // An empty tensor may have no address.
      std::memcpy(tensor.data_ptr(), parts.data.data() + entry.begin, entry.end - entry.begin);
    }
    content.tensors.emplace_back(entry.name, tensor);
  }
  return content;
}

}  // namespace millrace::pipeline
