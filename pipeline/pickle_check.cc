#include "pipeline/pickle_check.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"

namespace millrace::pipeline {
namespace {

// Instructions by the bytes that follow them: those of Python's `pickletools` that LibTorch knows.
constexpr struct {
  std::string_view instructions;
  std::uint64_t bytes;
} kFixed[] = {
    {"().NQR]abdelstu}\x81\x85\x86\x87\x88\x89", 0},
    {"Khq\x80", 1},
    {"M", 2},
    {"Jjr", 4},
    {"G", 8},
    {"\x8a", 9},  // A length, of which LibTorch knows 8 alone, and so many bytes.
};
constexpr char kStop = '.';
constexpr char kGlobal = 'c';
constexpr char kText = 'X';
constexpr char kLongText = '\x8d';
constexpr char kPutInMemo = 'r';  // Its short form, 'q', has numbers up to 255.

// The first `size` bytes, lowest first. Those that are missing are zeros.
std::uint64_t Number(std::string_view bytes, std::size_t size) {
  std::uint64_t number = 0;
  for (std::size_t at = 0; at < size && at < bytes.size(); ++at) {
    number |= std::uint64_t{static_cast<unsigned char>(bytes[at])} << (8 * at);
  }
  return number;
}

// A length of `size` bytes, and so many bytes. Lengths beyond all bytes are not added to.
std::uint64_t TextBytes(std::string_view rest, std::size_t size) {
  const std::uint64_t length = Number(rest, size);
  return length > rest.size() ? length : length + size;
}

// The bytes of `rest` that belong to the instruction before it, or more than there are. Nothing:
// LibTorch does not know it.
std::optional<std::uint64_t> BytesOf(char instruction, std::string_view rest) {
  for (const auto& [instructions, bytes] : kFixed) {
    if (instructions.find(instruction) != std::string_view::npos) return bytes;
  }
  if (instruction == kText) return TextBytes(rest, 4);
  if (instruction == kLongText) return TextBytes(rest, 8);
  if (instruction != kGlobal) return std::nullopt;
  const std::size_t module_end = rest.find('\n');
  if (module_end == std::string_view::npos) return module_end;
  const std::size_t name_end = rest.find('\n', module_end + 1);
  return name_end == std::string_view::npos ? name_end : name_end + 1;
}

absl::Status Changed(const std::string& what) {
  return absl::InvalidArgumentError(
      absl::StrCat("its pickle ", what, ": the file was cut short or changed; copy it again"));
}

}  // namespace

absl::Status CheckPickle(std::string_view pickle) {
  for (std::size_t at = 0; at < pickle.size();) {
    const char instruction = pickle[at++];
    if (instruction == kStop) return absl::OkStatus();
    const std::string_view rest = pickle.substr(at);
    const std::optional<std::uint64_t> bytes = BytesOf(instruction, rest);
    if (!bytes) return absl::OkStatus();
    if (*bytes > rest.size()) break;
    if (instruction == kPutInMemo && Number(rest, 4) >= pickle.size()) {
      return Changed(absl::StrCat("of ", pickle.size(), " bytes has a value of the number ",
                                  Number(rest, 4), " at byte ", at - 1));
    }
    at += *bytes;
  }
  return Changed(absl::StrCat("of ", pickle.size(), " bytes has no end"));
}

}  // namespace millrace::pipeline
