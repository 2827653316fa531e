// Parses JSON from files that may be damaged or malicious.
#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

namespace millrace::pipeline {

/// Parses `text`. The result is discarded (is_discarded()) if `text` is not JSON, or nests deeper
/// than any file of ours. Serializing a deeper value would overflow the stack.
[[nodiscard]] inline nlohmann::json ParseShallow(std::string_view text) {
  constexpr int kDeepest = 32;
  bool deep = false;
  const auto keep = [&deep](int depth, nlohmann::json::parse_event_t /*event*/,
                            nlohmann::json& /*value*/) {
    deep = deep || depth > kDeepest;
    return !deep;
  };
  nlohmann::json parsed = nlohmann::json::parse(text, keep, /*allow_exceptions=*/false);
  if (deep) return nlohmann::json(nlohmann::json::value_t::discarded);
  return parsed;
}

}  // namespace millrace::pipeline
