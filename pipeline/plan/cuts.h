// The cuts of a chain of layers into stages.
#pragma once

#include <vector>

namespace millrace::pipeline {

/// The first layer of each stage except the first, counted from 0. Users call them the cuts.
using Cuts = std::vector<int>;

}  // namespace millrace::pipeline
