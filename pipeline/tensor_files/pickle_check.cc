#include "pipeline/tensor_files/pickle_check.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace millrace::pipeline {
namespace {

// Instructions by their number of argument bytes: those of `pickletools` that LibTorch knows.
constexpr struct {
  std::string_view instructions;
  std::uint64_t bytes;
} kFixed[] = {
    {"().NQR]abdelstu}\x81\x85\x86\x87\x88\x89", 0},
    {"Khq\x80", 1},
    {"M", 2},
    {"Jjr", 4},
    {"G", 8},
    {"\x8a", 9},  // A length, which LibTorch requires to be 8, and the bytes.
};
constexpr char kStop = '.';
constexpr char kGlobal = 'c';
constexpr char kText = 'X';
constexpr char kLongText = '\x8d';
// A network's modules nest two or three values each.
constexpr std::uint32_t kDeepest = 1000;

// The first `size` bytes, lowest byte first. Missing bytes count as zeros.
std::uint64_t Number(std::string_view bytes, std::size_t size) {
  std::uint64_t number = 0;
  for (std::size_t at = 0; at < size && at < bytes.size(); ++at) {
    number |= std::uint64_t{static_cast<unsigned char>(bytes[at])} << (8 * at);
  }
  return number;
}

// A length field of `size` bytes plus its text. A length beyond all bytes is returned unchanged.
std::uint64_t TextBytes(std::string_view rest, std::size_t size) {
  const std::uint64_t length = Number(rest, size);
  return length > rest.size() ? length : length + size;
}

// The number of argument bytes of the instruction; more than `rest` has if it is cut. nullopt:
// LibTorch does not know the instruction.
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

absl::Status Refused(const std::string& what) {
  return absl::InvalidArgumentError(
      absl::StrCat("its pickle ", what, ": the file was cut short or changed; copy it again"));
}

// Walks through a pickle like LibTorch, but tracks only the nesting depth of each value.
class Walk {
 public:
  explicit Walk(std::string_view pickle) : pickle_(pickle) {}

  absl::Status Run() {
    while (at_ < pickle_.size()) {
      const char instruction = pickle_[at_];
      const std::string_view rest = pickle_.substr(at_ + 1);
      const std::optional<std::uint64_t> bytes = BytesOf(instruction, rest);
      if (instruction == kStop || !bytes) return absl::OkStatus();
      if (*bytes > rest.size()) break;
      MILLRACE_RETURN_IF_ERROR(Do(instruction, Number(rest, std::min<std::size_t>(*bytes, 4))));
      at_ += 1 + *bytes;
    }
    return Refused(absl::StrCat("of ", pickle_.size(), " bytes has no end"));
  }

 private:
  struct Value {
    std::uint32_t depth = 0;
    // No other value contains it yet, so adding to it makes no other value deeper.
    bool alone = false;
  };
  static constexpr std::size_t kPlain = 0;

  absl::Status Do(char instruction, std::uint64_t number) {
    switch (instruction) {
      case '(':
        marks_.push_back(stack_.size());
        return absl::OkStatus();
      case ')':
      case ']':
      case '}':
        return Make(0);
      case '\x85':
        return Make(1);
      case '\x86':
        return Make(2);
      case '\x87':
        return Make(3);
      case 't':
      case 'l':
      case 'd':
        return Make(SinceMark());
      case 'a':
        return Fill(1);
      case 's':
        return Fill(2);
      case 'e':
      case 'u':
        return Fill(SinceMark());
      case 'R':
      case 'b':
        return Call();
      case 'q':
      case 'r':
        return Remember(number);
      case 'h':
      case 'j':
        return Recall(number);
      case '\x80':
        return absl::OkStatus();
      case '\x81':
        return Drop(1);
      case 'Q':
        MILLRACE_RETURN_IF_ERROR(Drop(1));
        break;
      default:
        break;
    }
    stack_.push_back(kPlain);
    return absl::OkStatus();
  }

  // The number of values since the last mark; more than the stack has if there is no mark.
  std::size_t SinceMark() {
    if (marks_.empty()) return stack_.size() + 1;
    const std::size_t mark = marks_.back();
    marks_.pop_back();
    return mark > stack_.size() ? stack_.size() + 1 : stack_.size() - mark;
  }

  // Makes a new value of the newest `count` values.
  absl::Status Make(std::size_t count) {
    if (count > stack_.size()) return Missing();
    values_.push_back({.depth = 1, .alone = true});
    const std::size_t made = values_.size() - 1;
    MILLRACE_RETURN_IF_ERROR(Put(count, made));
    stack_.push_back(made);
    return absl::OkStatus();
  }

  // Adds the newest `count` values to the value before them.
  absl::Status Fill(std::size_t count) {
    if (count >= stack_.size()) return Missing();
    const std::size_t filled = stack_[stack_.size() - count - 1];
    if (values_[filled].alone) return Put(count, filled);
    return absl::InvalidArgumentError(
        "it holds an object with items, as an OrderedDict is; make a dict of it, as in "
        "dict(network.state_dict())");
  }

  absl::Status Put(std::size_t count, std::size_t into) {
    for (; count > 0; --count) {
      Value& value = values_[stack_.back()];
      stack_.pop_back();
      value.alone = false;
      values_[into].depth = std::max(values_[into].depth, value.depth + 1);
    }
    if (values_[into].depth <= kDeepest) return absl::OkStatus();
    return Refused(absl::StrCat("nests more than ", kDeepest, " values at byte ", at_));
  }

  // Calls a function with the newest value as its argument. The result may be the argument itself.
  absl::Status Call() {
    MILLRACE_RETURN_IF_ERROR(Make(1));
    const std::size_t made = stack_.back();
    values_[made].alone = false;
    MILLRACE_RETURN_IF_ERROR(Drop(2));
    stack_.push_back(made);
    return absl::OkStatus();
  }

  absl::Status Remember(std::uint64_t number) {
    if (number >= pickle_.size()) {
      return Refused(absl::StrCat("of ", pickle_.size(), " bytes has a value of the number ",
                                  number, " at byte ", at_));
    }
    if (stack_.empty()) return Missing();
    memo_[number] = stack_.back();
    return absl::OkStatus();
  }

  absl::Status Recall(std::uint64_t number) {
    const auto found = memo_.find(number);
    if (found == memo_.end()) return Missing();
    values_[found->second].alone = false;
    stack_.push_back(found->second);
    return absl::OkStatus();
  }

  absl::Status Drop(std::size_t count) {
    if (count > stack_.size()) return Missing();
    stack_.resize(stack_.size() - count);
    return absl::OkStatus();
  }

  absl::Status Missing() const {
    return Refused(absl::StrCat("needs a value at byte ", at_, " that is not there"));
  }

  const std::string_view pickle_;
  std::size_t at_ = 0;
  // All containers; the first entry stands for all other values. Other members hold indices.
  std::vector<Value> values_ = {{}};
  std::vector<std::size_t> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, std::size_t> memo_;
};

}  // namespace

absl::Status CheckPickle(std::string_view pickle) { return Walk(pickle).Run(); }

}  // namespace millrace::pipeline
