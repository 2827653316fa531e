// The command line's library, named without its headers, which are slow to read.
#pragma once

// NOLINTNEXTLINE(readability-identifier-naming): it is CLI11's.
namespace CLI {
class App;
class Option;
}  // namespace CLI
