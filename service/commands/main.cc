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

/// A socket of ours in the place of one that is closed would get the log, or be closed.
void OpenStandardStreams() {
  int opened = 0;
  do {
    opened = open("/dev/null", O_RDWR);
  } while (opened >= 0 && opened <= STDERR_FILENO);
  if (opened >= 0) close(opened);
}

/// `serve` decodes cameras' video in processes of their own, which are forked from one that has no
/// threads but jemalloc's, which jemalloc takes care of. The arguments lie behind each other.
absl::Status StartWhatServeNeeds(int argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != "serve") return absl::OkStatus();
  const char* const end = argv[argc - 1] + std::strlen(argv[argc - 1]) + 1;
  return millrace::ingest::StartCameraProcesses({argv[0], static_cast<std::size_t>(end - argv[0])});
}

}  // namespace

// Read by jemalloc. One thread gives back to the system what is unused for ten seconds: threads
// that have ended leave nothing behind, and what a sample frees is there for the next one.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "background_thread:true,max_background_threads:1";
}

int main(int argc, char** argv) {
  OpenStandardStreams();
  // Writing to a browser that has gone is an error value, not the end.
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
