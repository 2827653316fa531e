// Whether LibTorch may be given a pickle.
//
// It believes what a pickle says: it takes the memory for a text of 4 GB, or for a memo of four
// billion values (64 GB), before it looks for them, and reads behind its buffer for a name that
// does not end.
#pragma once

#include <string_view>

#include "absl/status/status.h"

namespace millrace::pipeline {

/// Goes through the instructions and does what none of them says. INVALID_ARGUMENT, with words that
/// follow the file's name, if one needs bytes behind the end, or numbers a value beyond all that
/// the pickle could hold. What LibTorch itself refuses in words, an instruction that it does not
/// know, is left to it. Thread-safe.
[[nodiscard]] absl::Status CheckPickle(std::string_view pickle);

}  // namespace millrace::pipeline
