#include "service/grpc_log.h"

#include <grpc/support/log.h>

#include <string_view>

#include "spdlog/spdlog.h"

namespace millrace::service {
namespace {

spdlog::level::level_enum LevelOf(gpr_log_severity severity) {
  switch (severity) {
    case GPR_LOG_SEVERITY_DEBUG:
      return spdlog::level::debug;
    case GPR_LOG_SEVERITY_INFO:
      return spdlog::level::info;
    case GPR_LOG_SEVERITY_ERROR:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

void Log(gpr_log_func_args* said) {
  std::string_view file = said->file;
  file.remove_prefix(file.rfind('/') + 1);  // All of it, where there is none.
  spdlog::log(LevelOf(said->severity), "gRPC: {} ({}:{})", said->message, file, said->line);
}

}  // namespace

void LogGrpc() { gpr_set_log_function(Log); }

}  // namespace millrace::service
