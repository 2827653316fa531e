#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "ingest/inputs/camera_process.h"
#include "ingest/source/abandoned_pipelines.h"
#include "service/commands/address_space.h"
#include "service/commands/cli.h"
#include "service/server/cli_log.h"
#include "service/server/grpc_log.h"
#include "service/terminal/cli_exit_codes.h"

namespace {

// Hanging GStreamer threads still use objects that a normal exit would destroy.
int EndWith(int code) {
  if (millrace::ingest::CountAbandoned().hanging == 0) return code;
  std::cout.flush();
  std::fflush(nullptr);
  _exit(code);
}

// The libraries' initialization needs memory, and without it ends with SIGABRT. Only functions in
// .preinit_array run before that initialization.
__attribute__((section(".preinit_array"),
               used)) void (*const kBeforeLibraries)() = millrace::service::EndIfAddressSpaceIsTiny;

/// Opens missing standard streams: otherwise a socket could get descriptor 2, and with it the log.
void OpenStandardStreams() {
  int opened = 0;
  do {
    opened = open("/dev/null", O_RDWR);
  } while (opened >= 0 && opened <= STDERR_FILENO);
  if (opened >= 0) close(opened);
}

/// `serve` decodes cameras' video in child processes. They are forked from a process without
/// threads, except jemalloc's, which jemalloc itself handles. The strings of argv are contiguous.
absl::Status StartWhatServeNeeds(int argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != "serve") return absl::OkStatus();
  const char* const end = argv[argc - 1] + std::strlen(argv[argc - 1]) + 1;
  return millrace::ingest::StartCameraProcesses({argv[0], static_cast<std::size_t>(end - argv[0])});
}

}  // namespace

// Read by jemalloc. One background thread returns memory that is unused for ten seconds to the
// system. So ended threads leave no memory behind, and memory that one sample frees serves the
// next.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "background_thread:true,max_background_threads:1";
}

int main(int argc, char** argv) {
  OpenStandardStreams();
  // A write to a closed connection returns an error instead of ending the process.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    const absl::Status started = StartWhatServeNeeds(argc, argv);
    millrace::service::LogToStderr();
    millrace::service::LogGrpc();
    if (!started.ok()) {
      millrace::service::LogFailure(std::string(started.message()));
      return millrace::service::kExitFailure;
    }
    return EndWith(millrace::service::RunCommandLine(argc, argv));
  } catch (const std::exception& error) {
    millrace::service::LogFailure(error.what());
    return millrace::service::kExitFailure;
  }
}
