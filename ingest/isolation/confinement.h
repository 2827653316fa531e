// Restricts a camera's process, because the data that it decodes may contain an attack.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace millrace::ingest {

struct Confinement {
  /// Memory for data beyond that at its start. Decoding H.264 of 7680x4320 takes an eighth of it on
  /// two cores; each further core adds a few pictures.
  std::uint64_t more_data_bytes = std::uint64_t{4} << 30;
  /// The maximum number of open files.
  std::uint64_t descriptors = 64;
};

/// Restricts this process irrevocably. It ends with `parent`, and gets no more privileges and no
/// core file. Its memory and descriptors are limited, and the system kills it first when memory is
/// short. Of its open descriptors, the first `keep` stay open. If a step fails, exits with
/// kExitNotConfined (messages.h). REQUIRES: one thread.
void Confine(const Confinement& confinement, pid_t parent, unsigned int keep);

/// Makes the process receive SIGKILL when `parent` ends. REQUIRES: `parent` is its parent.
void EndWith(pid_t parent);

}  // namespace millrace::ingest
