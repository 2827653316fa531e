#include "service/grpc_log.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <string>
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

/// The file, without its folder.
std::string_view NameOf(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // All of it, where there is none.
}

void Log(gpr_log_func_args* said) {
  spdlog::log(LevelOf(said->severity), "gRPC: {} ({}:{})", said->message, NameOf(said->file),
              said->line);
}

/// Of bytes that a client has sent, above all: no error of the server's.
void LogProtobuf(google::protobuf::LogLevel level, const char* file, int line,
                 const std::string& message) {
  const bool ends_program = level == google::protobuf::LOGLEVEL_FATAL;
  spdlog::log(ends_program ? spdlog::level::err : spdlog::level::warn, "protobuf: {} ({}:{})",
              message, NameOf(file), line);
}

}  // namespace

void LogGrpc() {
  gpr_set_log_function(Log);
  google::protobuf::SetLogHandler(LogProtobuf);
}

}  // namespace millrace::service
