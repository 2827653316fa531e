// Opens the source that a benchmark measures.
#pragma once

#include <cstdlib>
#include <iostream>
#include <memory>
#include <utility>

#include "ingest/inputs/open_source.h"
#include "ingest/source/source.h"

namespace millrace::benchmarks {

/// The source; where it cannot be opened, says why and ends the program with exit code 1.
inline std::unique_ptr<ingest::Source> OpenOrExit(const ingest::SourceOptions& options) {
  auto source = ingest::OpenSource(options);
  if (!source.ok()) {
    std::cerr << source.status() << "\n";
    std::exit(1);
  }
  return *std::move(source);
}

}  // namespace millrace::benchmarks
