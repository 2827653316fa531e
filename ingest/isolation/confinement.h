// What a camera's process may not do, because what it decodes may have taken it over.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace millrace::ingest {

struct Confinement {
  /// What its data may take beyond what it has when it starts. Decoding H.264 of 7680x4320 takes
  /// an eighth of it on two cores; each core more takes a few pictures more.
  std::uint64_t more_data_bytes = std::uint64_t{4} << 30;
  /// Files that it may have open.
  std::uint64_t descriptors = 64;
};

/// Confines this process for good: it ends when `parent` does, gets no more privileges, no core
/// file, no more memory and descriptors than that, and goes first when the system's memory is
/// short. Of descriptors that are open the first `keep` stay. Ends it by kExitNotConfined
/// (messages.h) where that cannot be done. REQUIRES: one thread.
void Confine(const Confinement& confinement, pid_t parent, unsigned int keep);

/// The process gets SIGKILL when `parent` ends, which it is a child of.
void EndWith(pid_t parent);

}  // namespace millrace::ingest
