#include "pipeline/tensor_files/archive_error.h"

#include <array>
#include <cctype>

#include "base/foreign_error.h"

namespace millrace::pipeline {
namespace {

struct Cause {
  std::string_view said;
  std::string_view words;
};

// The messages of LibTorch 2.x.
constexpr auto kCauses = std::to_array<Cause>({
    {"failed finding central directory", "PyTorch did not write it, or it was cut short"},
    {"not a ZIP archive", "PyTorch did not write it, or it was cut short"},
    {"hasRecord(\"version\")", "it is an archive of something else"},
    {"failed locating file", "it is an archive of something else, or a part of it is missing"},
    {"Attempted to read a PyTorch file with version", "a newer PyTorch wrote it"},
    {"Expected Object but got", "it holds values, as torch.save() writes them"},
    {"PytorchStreamReader failed", "it is damaged"},
});

/// LibTorch's errors about a network's code begin with an empty line.
std::string_view WithoutSpace(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) {
    text.remove_prefix(1);
  }
  return text;
}

/// Removes "EXPRESSION INTERNAL ASSERT FAILED at FILE:LINE, please report a bug to PyTorch. " and
/// "[enforce fail at FILE:LINE] . ", if more text follows.
std::string_view WithoutPlace(std::string_view text) {
  for (const std::string_view end : {"please report a bug to PyTorch.", "] . "}) {
    const std::size_t found = text.find(end);
    const bool place = text.substr(0, found).find(" at ") != std::string_view::npos;
    if (found == std::string_view::npos || !place) continue;
    return WithoutSpace(text.substr(found + end.size()));
  }
  return text;
}

std::string_view FirstSentence(std::string_view text) {
  text = text.substr(0, text.find(". "));
  while (text.ends_with('.') || text.ends_with(':')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string ArchiveError(std::string_view thrown) {
  for (const auto& [said, words] : kCauses) {
    if (thrown.find(said) != std::string_view::npos) return std::string(words);
  }
  const std::string line = CauseLine(WithoutSpace(thrown));
  const std::string sentence(FirstSentence(WithoutPlace(line)));
  return sentence.empty() ? "LibTorch cannot read it" : sentence;
}

}  // namespace millrace::pipeline
