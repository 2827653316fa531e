// Camera URIs as people have them: tests/data/camera_uris.json, which tests in Python share.
#pragma once

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace millrace::ingest {

/// A URI and its meaning. Without a user it has no login.
struct GoodCameraUri {
  std::string brand;
  std::string uri;
  std::string host;
  int port = 0;
  std::optional<std::string> user;
  std::optional<std::string> password;
  std::string path;
};

/// A refused URI, a part of the message, and the secret that the message must not show.
struct BadCameraUri {
  std::string uri;
  std::string why;
  std::string secret;
};

struct CameraUriTable {
  std::vector<GoodCameraUri> good;
  std::vector<BadCameraUri> bad;
};

/// Throws where the file cannot be read.
inline CameraUriTable ReadCameraUriTable() {
  const auto text = [](const nlohmann::json& of, const char* key) {
    return of.contains(key) && of.at(key).is_string() ? std::optional(of.at(key).get<std::string>())
                                                      : std::nullopt;
  };
  std::ifstream file(MILLRACE_SOURCE_DIR "/tests/data/camera_uris.json");
  const nlohmann::json json = nlohmann::json::parse(file);
  CameraUriTable table;
  for (const nlohmann::json& uri : json.at("good")) {
    table.good.push_back({.brand = uri.at("brand"),
                          .uri = uri.at("uri"),
                          .host = uri.at("host"),
                          .port = uri.at("port"),
                          .user = text(uri, "user"),
                          .password = text(uri, "password"),
                          .path = uri.at("path")});
  }
  for (const nlohmann::json& uri : json.at("bad")) {
    table.bad.push_back(
        {.uri = uri.at("uri"), .why = uri.at("why"), .secret = text(uri, "secret").value_or("")});
  }
  return table;
}

}  // namespace millrace::ingest
