// Gives each file that standard input names, one path a line, to all that reads secrets of a file,
// as a token, an authority, a certificate and a key, and a password; and prints all that is said of
// it, by a server at ADDRESS, too.   millrace_secret_reader ADDRESS
//
// One process for hundreds of files: each start of `millrace` takes a third of a second.
#include <iostream>
#include <string>
#include <string_view>

#include "grpcpp/grpcpp.h"
#include "ingest/source/login.h"
#include "millrace/v1/stream_service.grpc.pb.h"
#include "service/access/tokens.h"
#include "service/commands/watch/watch_calls.h"
#include "service/commands/watch/watch_channel.h"
#include "service/server/grpc_credentials.h"

namespace millrace::service {
namespace {

void Say(std::string_view what, const absl::Status& status) {
  std::cout << "  " << what << ": " << status << "\n" << std::flush;
}

/// As `millrace watch` does: opens a channel, and calls.
void Call(std::string_view what, const std::string& address, const WatchSecurity& security) {
  const absl::StatusOr<WatchChannel> channel = OpenWatchChannel(address, security);
  Say(what, channel.status());
  if (!channel.ok()) return;
  WatchCalls calls;
  WatchCall call(calls, channel->authorization);
  v1::ListStreamsResponse response;
  const grpc::Status status =
      v1::StreamService::NewStub(channel->channel)
          ->ListStreams(&call.context(), v1::ListStreamsRequest(), &response);
  std::cout << "  " << what << " in a call: " << status.error_message() << "\n" << std::flush;
}

void Read(const std::string& address, const std::string& path) {
  std::cout << path << "\n" << std::flush;
  Call("token", address, {.token_file = path});
  Call("authority", address, {.ca_file = path});
  Call("certificate", address, {.certificate_file = path, .key_file = path});
  Say("server's tokens", TokenFile::Open(path).status());
  Say("server's certificate", CheckTls({.certificate = path, .key = path, .client_ca = ""}));
  Say("password", ingest::ReadPassword({.password_file = path}).status());
}

}  // namespace
}  // namespace millrace::service

int main(int /*argc*/, char** argv) {
  int files = 0;
  for (std::string path; std::getline(std::cin, path); ++files) {
    millrace::service::Read(argv[1], path);
  }
  std::cout << "looked at " << files << " files\n";
}
