// Whether LibTorch may be given a pickle.
//
// It believes what a pickle says: it takes the memory for a text of 4 GB, or for a memo of four
// billion values (64 GB), before it looks for them, and reads behind its buffer for a name that
// does not end. And it frees values within values by calls within calls, which take all of the
// stack where a megabyte says no more than that a value stands in one that stands in another.
#pragma once

#include <string_view>

#include "absl/status/status.h"

namespace millrace::pipeline {

/// Goes through the instructions and does what none of them says. INVALID_ARGUMENT, with words that
/// follow the file's name, if one needs bytes behind the end or a value that is not there, numbers
/// a value beyond all that the pickle could hold, nests more than 1000, or puts something into a
/// value that stands in others already: so none stands in itself. What LibTorch itself refuses in
/// words, an instruction that it does not know, is left to it. Thread-safe.
[[nodiscard]] absl::Status CheckPickle(std::string_view pickle);

}  // namespace millrace::pipeline
