// Where a chain of layers is cut into stages.
#pragma once

#include <vector>

namespace millrace::pipeline {

/// The first layer of every stage but the first, counted from 0: what a user calls the cuts.
using Cuts = std::vector<int>;

}  // namespace millrace::pipeline
