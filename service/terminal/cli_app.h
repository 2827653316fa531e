// Forward declarations of CLI11, whose headers are slow to compile.
#pragma once

// NOLINTNEXTLINE(readability-identifier-naming): CLI11's own name.
namespace CLI {
class App;
class Option;
}  // namespace CLI
