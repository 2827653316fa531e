#include <csignal>
#include <exception>
#include <iostream>

#include "service/cli.h"
#include "service/cli_exit_codes.h"
#include "service/cli_log.h"

int main(int argc, char** argv) {
  // Writing to a browser that has gone is an error value, not the end.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    millrace::service::LogToStderr();
    return millrace::service::RunCommandLine(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "millrace: " << error.what() << "\n";
    return millrace::service::kExitFailure;
  }
}
