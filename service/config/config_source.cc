#include "service/config/config_source.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "ingest/source/camera_uri.h"
#include "ingest/source/login.h"
#include "ingest/source/uri.h"
#include "service/config/config_checks.h"

namespace millrace::service {
namespace {

using Value = ConfigValue;
using Key = ConfigKey<StreamConfig>;
using std::chrono::milliseconds;

constexpr bool kRequired = true;
constexpr bool kOptional = false;

constexpr std::array<std::string_view, 3> kTransports = {"tcp", "udp", "auto"};
// In the order of WhenFull.
constexpr std::array<std::string_view, 3> kQueuePolicies = {"drop_oldest", "drop_newest", "block"};
constexpr std::array<std::string_view, 3> kHardwareDecodes = {"auto", "require", "off"};
// Keys for RTSP cameras only.
constexpr std::array<std::string_view, 6> kRtspKeys = {"transport",     "latency_ms",   "user",
                                                       "password_file", "password_env", "isolate"};
constexpr std::array<std::string_view, 2> kRtspsKeys = {"tls_ca_file", "tls_verify"};
// Keys for sources with a connection only.
constexpr std::array<std::string_view, 3> kConnectionKeys = {"connect_timeout_ms",
                                                             "stall_timeout_ms", "backoff_ms"};
// Keys for sources with a decoder only.
constexpr std::array<std::string_view, 1> kDecoderKeys = {"hw_decode"};

/// `text`. If it is a relative path of a file, the path gets the configuration's folder as a
/// prefix.
std::string InFolder(const Value& value, const ingest::Uri& uri, const std::string& text) {
  if (ingest::KindOf(uri) != ingest::SourceKind::kFile || uri.rest.starts_with('/')) return text;
  const std::string path = value.InFolder(uri.rest);
  if (path == uri.rest) return text;
  // A folder's name may look like a scheme. Only the scheme file: decodes percent-encoding.
  if (uri.scheme.empty()) return ingest::ParseUri(path)->scheme.empty() ? path : "./" + path;
  const std::string folder = path.substr(0, path.size() - uri.rest.size());
  return absl::StrCat(folder.starts_with('/') ? "file://" : "file:",
                      absl::StrReplaceAll(folder, {{"%", "%25"}}), uri.rest);
}

void ReadUri(const Value& value, StreamConfig& stream) {
  std::string text = stream.source.uri;
  value.Text(text);
  if (value.describes() || text.empty()) return;
  const absl::StatusOr<ingest::Uri> uri = ingest::ParseUri(text);
  if (!uri.ok()) return value.Wrong(absl::StrCat("cannot be read: ", uri.status().message()));
  if (!ingest::KindOf(*uri)) {
    return value.Wrong(absl::StrCat("begins with '", uri->scheme, ":'; it must be ",
                                    std::string(ingest::kKnownSchemes)));
  }
  if (ingest::KindOf(*uri) == ingest::SourceKind::kRtspCamera) {
    const absl::Status checked = ingest::ParseCameraUri(*uri).status();
    if (!checked.ok()) return value.Wrong(std::string(checked.message()));
  }
  stream.source.uri = InFolder(value, *uri, text);
}

void ReadMilliseconds(const Value& value, const WholeRange& range, milliseconds& out) {
  int count = static_cast<int>(out.count());
  value.Whole(range, count);
  out = milliseconds(count);
}

// The index of a name is the value of its enumerator.
template <typename Enum, std::size_t kNames>
void ReadName(const Value& value, const std::array<std::string_view, kNames>& names, Enum& out) {
  std::string name(names.at(static_cast<std::size_t>(out)));
  value.OneOf(names, name);
  out = static_cast<Enum>(std::ranges::find(names, name) - names.begin());
}

void ReadQueuePolicy(const Value& value, StreamConfig& stream) {
  ingest::WhenFull policy = ingest::WhenFullOf(stream.source);
  ReadName(value, kQueuePolicies, policy);
  if (!value.describes()) stream.source.when_full = policy;
}

void ReadBackoff(const Value& value, StreamConfig& stream) {
  ingest::CameraOptions& camera = stream.source.camera;
  std::vector<int> waits = {static_cast<int>(camera.first_backoff.count()),
                            static_cast<int>(camera.longest_backoff.count())};
  value.WholeList({2, 2}, {1, 3'600'000}, waits);
  if (waits[0] > waits[1]) return value.Wrong("must name the shortest wait first");
  camera.first_backoff = milliseconds(waits[0]);
  camera.longest_backoff = milliseconds(waits[1]);
}

constexpr Key kSourceKeys[] = {
    {"uri", kRequired, ReadUri},
    {"loop", kOptional, [](const Value& v, StreamConfig& s) { v.Flag(s.source.loop); }},
    {"as_camera", kOptional, [](const Value& v, StreamConfig& s) { v.Flag(s.source.as_camera); }},
    {"queue", kOptional,
     [](const Value& v, StreamConfig& s) {
       v.Whole({1, 64}, s.source.queue_capacity);
     }},
    {"queue_policy", kOptional, ReadQueuePolicy},
    {"max_fps", kOptional,
     [](const Value& v, StreamConfig& s) {
       v.Real({0, 1000}, s.source.max_frames_per_second);
     }},
    {"fps", kOptional,
     [](const Value& v, StreamConfig& s) {
       v.Real({0.01, 1000}, s.source.images_per_second);
     }},
    {"hw_decode", kOptional,
     [](const Value& v, StreamConfig& s) {
       ReadName(v, kHardwareDecodes, s.source.hardware_decode);
     }},
    {"test_frames_per_second", kOptional,
     [](const Value& v, StreamConfig& s) {
       v.Whole({1, 1000}, s.source.test_frames_per_second);
     }},
    {"transport", kOptional,
     [](const Value& v, StreamConfig& s) { ReadName(v, kTransports, s.source.camera.transport); }},
    {"latency_ms", kOptional,
     [](const Value& v, StreamConfig& s) {
       ReadMilliseconds(v, {0, 10'000}, s.source.camera.latency);
     }},
    {"connect_timeout_ms", kOptional,
     [](const Value& v, StreamConfig& s) {
       ReadMilliseconds(v, {100, 600'000}, s.source.camera.connect_timeout);
     }},
    {"stall_timeout_ms", kOptional,
     [](const Value& v, StreamConfig& s) {
       ReadMilliseconds(v, {100, 3'600'000}, s.source.camera.stall_timeout);
     }},
    {"backoff_ms", kOptional, ReadBackoff},
    {"user", kOptional,
     [](const Value& v, StreamConfig& s) { v.Text(s.source.camera.login.user); }},
    {"password_file", kOptional,
     [](const Value& v, StreamConfig& s) { v.Path(s.source.camera.login.password_file); }},
    {"password_env", kOptional,
     [](const Value& v, StreamConfig& s) { v.Text(s.source.camera.login.password_variable); }},
    {"tls_ca_file", kOptional,
     [](const Value& v, StreamConfig& s) { v.Path(s.source.camera.tls.ca_file); }},
    {"tls_verify", kOptional,
     [](const Value& v, StreamConfig& s) { v.Flag(s.source.camera.tls.verify); }},
    {"isolate", kOptional,
     [](const Value& v, StreamConfig& s) { v.Flag(s.source.camera.isolate); }},
};

// Notes an error for each of `keys` in `source`. The kind of source does not support them.
void RefuseKeys(const Value& stream, const Value& source, std::span<const std::string_view> keys,
                std::string_view for_what) {
  for (const std::string_view key : keys) {
    if (source.Find(key))
      WrongAt(stream, "source", key, absl::StrCat("is for ", std::string(for_what), " only"));
  }
}

void CheckQueuePolicy(const Value& stream, const ingest::SourceOptions& source) {
  if (!source.when_full) return;
  const bool waits = source.when_full == ingest::WhenFull::kWait;
  if (waits && !ingest::CanWait(source)) {
    WrongAt(stream, "source", "queue_policy",
            "is block, which is for files and push: what a camera shows cannot wait; take "
            "drop_oldest or drop_newest");
  }
  if (!waits && ingest::CanWait(source)) {
    WrongAt(stream, "source", "queue_policy",
            "drops frames, which files and push: need not: take block, or set as_camera");
  }
}

void CheckLogin(const Value& stream, const StreamConfig& config, const ingest::CameraUri& uri) {
  const ingest::Login& login = config.source.camera.login;
  const std::string_view password = login.password_file.empty() ? "password_env" : "password_file";
  if (!login.password_file.empty() && !login.password_variable.empty()) {
    WrongAt(stream, "source", "password_env", "must not be beside password_file");
  }
  if (!login.user.empty() && uri.has_login) {
    WrongAt(stream, "source", "user", "must not be beside a user in the URI");
  } else if (ingest::HasPassword(login) && login.user.empty() && !uri.has_login) {
    WrongAt(stream, "source", password, "needs a user");
  } else if (ingest::HasPassword(login) && !uri.password.empty()) {
    WrongAt(stream, "source", password, "must not be beside a password in the URI");
  }
}

}  // namespace

void ReadSource(const ConfigValue& value, StreamConfig& stream) {
  stream.source.camera.isolate = true;  // The default for sources that support isolation.
  value.Map<StreamConfig>(kSourceKeys, stream);
}

void CheckSource(const ConfigValue& stream, const StreamConfig& config) {
  const ingest::SourceOptions& source = config.source;
  const absl::StatusOr<ingest::Uri> uri = ingest::ParseUri(source.uri);
  const std::optional<ConfigValue> keys = stream.Find("source");
  if (!uri.ok() || !keys) return;
  const std::optional<ingest::SourceKind> kind = ingest::KindOf(*uri);
  const bool file = kind == ingest::SourceKind::kFile;
  const bool push = kind == ingest::SourceKind::kPush;
  if (source.loop && !file) WrongAt(stream, "source", "loop", "is for files only");
  if (source.as_camera && !file && !push) {
    WrongAt(stream, "source", "as_camera", "is for files and push: only");
  }
  if (!file && keys->Find("fps")) {
    WrongAt(stream, "source", "fps", "is for folders of images only");
  }
  if (push && !uri->rest.empty()) {
    WrongAt(stream, "source", "uri", "has something behind push:; write push: alone");
  }
  CheckQueuePolicy(stream, source);
  if (kind != ingest::SourceKind::kTestPicture && keys->Find("test_frames_per_second")) {
    WrongAt(stream, "source", "test_frames_per_second", "is for test: only");
  }
  if (push || kind == ingest::SourceKind::kTestPicture) {
    RefuseKeys(stream, *keys, kDecoderKeys, "files, v4l2:, rtsp: and rtsps:");
  }
  if (file || push) RefuseKeys(stream, *keys, kConnectionKeys, "cameras");
  if (uri->scheme != "rtsps") {
    RefuseKeys(stream, *keys, kRtspsKeys, "rtsps:");
  } else if (source.camera.transport != ingest::Transport::kTcp) {
    WrongAt(stream, "source", "transport",
            "must be tcp for rtsps:, whose pictures UDP would not encrypt");
  }
  if (kind != ingest::SourceKind::kRtspCamera) {
    RefuseKeys(stream, *keys, kRtspKeys, "rtsp: and rtsps:");
  } else if (const auto camera = ingest::ParseCameraUri(*uri); camera.ok()) {
    CheckLogin(stream, config, *camera);
  }
}

}  // namespace millrace::service
