// Corrects the checksums of random files, so that the content behind them is read.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "pipeline/checkpoint/checksum.h"
#include "pipeline/checkpoint/shallow_json.h"

namespace millrace {

/// A checkpoint's manifest; empty where it is no JSON.
inline std::string ManifestPutRight(std::string_view text) {
  nlohmann::json json = pipeline::ParseShallow(text);
  if (!json.is_object()) return {};
  json.erase("checksum");
  json["checksum"] = pipeline::Checksum(json.dump());
  return json.dump();
}

/// A file of tensors; empty where it has no header.
inline std::string TensorsPutRight(std::string_view bytes) {
  std::uint64_t length = 0;
  if (bytes.size() < sizeof(length)) return {};
  std::memcpy(&length, bytes.data(), sizeof(length));
  bytes.remove_prefix(sizeof(length));
  if (length > bytes.size()) return {};
  nlohmann::json header = pipeline::ParseShallow(bytes.substr(0, length));
  const std::string_view data = bytes.substr(length);
  if (!header.is_object()) return {};
  nlohmann::json& metadata = header["__metadata__"];
  if (!metadata.is_object()) metadata = nlohmann::json::object();
  metadata.erase("checksum");
  const std::string checksum =
      pipeline::Checksum(absl::StrCat(header.dump(), pipeline::Checksum(data)));
  header["__metadata__"]["checksum"] = checksum;
  const std::string text = header.dump();
  length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + text +
         std::string(data);
}

}  // namespace millrace
