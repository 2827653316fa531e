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

/// The file name without its folder.
std::string_view NameOf(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // Whole, if it has no '/'.
}

struct Reason {
  const char* said;  // OpenSSL's text.
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
     "no authority in listen.tls.client_ca has signed its certificate, or it has expired"},
    {"alert unknown ca", "it does not trust listen.tls.certificate"},
    {"alert bad certificate", "it does not trust listen.tls.certificate"},
    {"alert certificate unknown", "it does not trust listen.tls.certificate"},
    {"alert certificate expired", "to it listen.tls.certificate has expired"},
};

/// Why the TLS handshake with the peer failed. Empty if `message` is about something else.
std::string HandshakeFailure(std::string_view message) {
  if (!message.starts_with("Handshake failed")) return "";
  for (const auto& [said, words] : kReasons) {
    if (message.find(said) != std::string_view::npos) return words;
  }
  std::string_view reason = message.substr(message.rfind(':') + 1);
  if (reason.ends_with('.')) reason.remove_suffix(1);
  return std::string(reason);
}

/// A failed TLS handshake is the client's problem, so it is not logged as an error of the server.
void Log(gpr_log_func_args* said) {
  if (const std::string why = HandshakeFailure(said->message); !why.empty()) {
    return spdlog::warn("TLS: a client was refused: {}", why);
  }
  spdlog::log(LevelOf(said->severity), "gRPC: {} ({}:{})", said->message, NameOf(said->file),
              said->line);
}

/// The failed call reports it, too.
void LogOfClient(gpr_log_func_args* said) {
  const std::string_view message = said->message;
  const bool of_tls =
      !HandshakeFailure(message).empty() || message.starts_with("No match found for server name");
  if (!of_tls) return Log(said);
  spdlog::debug("gRPC: {} ({}:{})", message, NameOf(said->file), said->line);
}

/// Mostly about bytes that a client has sent: not an error of the server.
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
