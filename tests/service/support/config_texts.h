// Configuration files as texts: the sample that is shipped, and small ones that a test completes.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

namespace millrace::service {

inline constexpr char kSample[] = MILLRACE_SOURCE_DIR "/samples/millrace.yaml";

inline std::string SampleText() {
  std::ostringstream text;
  text << std::ifstream(kSample).rdbuf();
  return text.str();
}

/// A stream with `keys` beside its name.
inline std::string Stream(const std::string& keys) {
  return "version: 1\nstreams:\n- {name: a, " + keys + "}\n";
}

/// A good stream and `lines` of the file.
inline std::string File(const std::string& lines) {
  return "version: 1\nstreams: [{name: a, source: {uri: 'test:'}}]\n" + lines + "\n";
}

}  // namespace millrace::service
