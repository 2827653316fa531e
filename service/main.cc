#include <malloc.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>

#include "ingest/abandoned_pipelines.h"
#include "service/address_space.h"
#include "service/cli.h"
#include "service/cli_exit_codes.h"
#include "service/cli_log.h"
#include "service/grpc_log.h"

namespace {

// What a sample frees, the next takes again: giving it back to the system in between costs page
// faults, a twentieth of the time of a small network.
void KeepFreedMemory() {
  constexpr int kGreatestOfAThread = 32 << 20;  // glibc takes no more for M_MMAP_THRESHOLD.
  constexpr int kNever = -1;
  // NOLINTBEGIN(concurrency-mt-unsafe): before any thread starts.
  mallopt(M_MMAP_THRESHOLD, kGreatestOfAThread);
  mallopt(M_TRIM_THRESHOLD, kNever);
  // NOLINTEND(concurrency-mt-unsafe)
}

// What hangs in GStreamer goes on using what an ordinary end would destroy.
int EndWith(int code) {
  if (millrace::ingest::CountAbandoned().hanging == 0) return code;
  std::cout.flush();
  std::fflush(nullptr);
  _exit(code);
}

// The libraries' own initialization needs memory, and ends with SIGABRT without: of all that runs
// in a program, only this list comes before it.
__attribute__((section(".preinit_array"),
               used)) void (*const kBeforeLibraries)() = millrace::service::EndIfAddressSpaceIsTiny;

}  // namespace

int main(int argc, char** argv) {
  KeepFreedMemory();
  // Writing to a browser that has gone is an error value, not the end.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    millrace::service::LogToStderr();
    millrace::service::LogGrpc();
    return EndWith(millrace::service::RunCommandLine(argc, argv));
  } catch (const std::exception& error) {
    millrace::service::LogFailure(error.what());
    return millrace::service::kExitFailure;
  }
}
