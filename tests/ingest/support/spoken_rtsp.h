// RTSP by hand, for cameras with invalid answers.
#pragma once

#include <sys/socket.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace millrace::ingest {

/// What a client says until it is gone or has asked something.
inline std::string Request(int client) {
  std::string text;
  char piece[4096];
  while (text.find("\r\n\r\n") == std::string::npos) {
    const ssize_t size = recv(client, piece, sizeof(piece), 0);
    if (size <= 0) break;
    text.append(piece, static_cast<std::size_t>(size));
  }
  return text;
}

/// The answer to `request`, with `more` lines of header.
inline std::string Answer(const std::string& request, const std::string& code,
                          const std::string& more) {
  const std::size_t at = request.find("CSeq: ");
  const std::string number =
      at == std::string::npos ? "" : request.substr(at, request.find("\r\n", at) + 2 - at);
  return absl::StrCat("RTSP/1.0 ", code, "\r\n", number, more, "\r\n");
}

}  // namespace millrace::ingest
