#include "service/server/grpc_log.h"

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

struct Reason {
  const char* said;  // By OpenSSL.
  const char* words;
};

constexpr Reason kReasons[] = {
    {"wrong version number", "it does not speak TLS"},
    {"http request", "it does not speak TLS"},
    {"unsupported protocol", "its version of TLS is too old"},
    {"no shared cipher", "it has no cipher of TLS that this server has"},
    {"peer did not return a certificate",
     "it shows no certificate, and listen.tls.client_ca wants one"},
    {"certificate verify failed",
     "none of those in listen.tls.client_ca has signed its certificate, or that has expired"},
    {"alert unknown ca", "it does not trust listen.tls.certificate"},
    {"alert bad certificate", "it does not trust listen.tls.certificate"},
    {"alert certificate unknown", "it does not trust listen.tls.certificate"},
    {"alert certificate expired", "to it listen.tls.certificate has expired"},
};

/// Why the other side of a connection did not come to terms over TLS. Empty where `message` is
/// about something else.
std::string HandshakeFailure(std::string_view message) {
  if (!message.starts_with("Handshake failed")) return "";
  for (const auto& [said, words] : kReasons) {
    if (message.find(said) != std::string_view::npos) return words;
  }
  std::string_view reason = message.substr(message.rfind(':') + 1);
  if (reason.ends_with('.')) reason.remove_suffix(1);
  return std::string(reason);
}

/// That a client does not get on with the server's TLS is no error of the server's.
void Log(gpr_log_func_args* said) {
  if (const std::string why = HandshakeFailure(said->message); !why.empty()) {
    return spdlog::warn("TLS: a client was refused: {}", why);
  }
  spdlog::log(LevelOf(said->severity), "gRPC: {} ({}:{})", said->message, NameOf(said->file),
              said->line);
}

/// The call that fails says it, too.
void LogOfClient(gpr_log_func_args* said) {
  const std::string_view message = said->message;
  const bool of_tls =
      !HandshakeFailure(message).empty() || message.starts_with("No match found for server name");
  if (!of_tls) return Log(said);
  spdlog::debug("gRPC: {} ({}:{})", message, NameOf(said->file), said->line);
}

/// Of bytes that a client has sent, above all: no error of the server's.
void LogProtobuf(google::protobuf::LogLevel level, const char* file, int line,
                 const std::string& message) {
  const bool ends_program = level == google::protobuf::LOGLEVEL_FATAL;
  spdlog::log(ends_program ? spdlog::level::err : spdlog::level::warn, "protobuf: {} ({}:{})",
              message, NameOf(file), line);
}

}  // namespace

void LogGrpc(GrpcSide side) {
  gpr_set_log_function(side == GrpcSide::kClient ? LogOfClient : Log);
  google::protobuf::SetLogHandler(LogProtobuf);
}

}  // namespace millrace::service
