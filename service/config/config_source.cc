// The section `source`: where a stream's frames come from.
#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "ingest/source/camera_uri.h"
#include "ingest/source/login.h"
#include "ingest/source/uri.h"
#include "service/config/config_keys.h"

namespace millrace::service {
namespace {

using Value = ConfigValue;
using Kind = ingest::SourceKind;
using Json = ConfigJson;
using Target = ConfigTarget;
using Names = std::vector<std::string>;
using std::chrono::milliseconds;

const Names& Transports() {
  static const Names names = {"tcp", "udp", "auto"};
  return names;
}

// In the order of WhenFull.
const Names& QueuePolicies() {
  static const Names names = {"drop_oldest", "drop_newest", "block"};
  return names;
}

const Names& HardwareDecodes() {
  static const Names names = {"auto", "require", "off"};
  return names;
}

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

/// Fails if `uri`, of this kind, names no camera, device or file of this machine.
absl::Status CheckTarget(const ingest::Uri& uri, ingest::SourceKind kind) {
  switch (kind) {
    case ingest::SourceKind::kRtspCamera:
      return ingest::ParseCameraUri(uri).status();
    case ingest::SourceKind::kV4l2Camera:
      return ingest::DevicePath(uri).status();
    case ingest::SourceKind::kFile:
      return ingest::FilePath(uri).status();
    case ingest::SourceKind::kPush:
    case ingest::SourceKind::kTestPicture:
      break;
  }
  return absl::OkStatus();
}

void SetUri(const Value& at, const Json& value, const Target& target) {
  const std::string text = value;
  const absl::StatusOr<ingest::Uri> uri = ingest::ParseUri(text);
  if (!uri.ok()) return at.Wrong(absl::StrCat("cannot be read: ", uri.status().message()));
  const std::optional<ingest::SourceKind> kind = ingest::KindOf(*uri);
  if (!kind) {
    return at.Wrong(absl::StrCat("begins with '", uri->scheme, ":'; it must be ",
                                 std::string(ingest::kKnownSchemes)));
  }
  if (const absl::Status checked = CheckTarget(*uri, *kind); !checked.ok()) {
    return at.Wrong(std::string(checked.message()));
  }
  target.stream->source.uri = InFolder(at, *uri, text);
}

Json QueuePolicyOf(const Target& target) {
  return QueuePolicies().at(static_cast<std::size_t>(ingest::WhenFullOf(target.stream->source)));
}

void SetQueuePolicy(const Value& /*at*/, const Json& value, const Target& target) {
  target.stream->source.when_full = static_cast<ingest::WhenFull>(IndexOf(QueuePolicies(), value));
}

ingest::CameraOptions& Camera(const Target& target) { return target.stream->source.camera; }

Json BackoffOf(const Target& target) {
  const ingest::CameraOptions& camera = Camera(target);
  return Json::array({camera.first_backoff.count(), camera.max_backoff.count()});
}

void SetBackoff(const Value& at, const Json& value, const Target& target) {
  const milliseconds first(value[0].get<int>());
  const milliseconds longest(value[1].get<int>());
  if (first > longest) return at.Wrong("must name the shortest wait first");
  Camera(target).first_backoff = first;
  Camera(target).max_backoff = longest;
}

constexpr ConfigKey kSourceKeys[] = {
    {"uri",
     TextType{},
     {[](const Target& t) -> Json { return t.stream->source.uri; }, SetUri},
     "A path, or file:PATH, of a video, of a folder of images, or a pattern (frames/*.png). A "
     "camera: rtsp://USER:PASSWORD@HOST/PATH (docs/cameras.md has those of many brands), or "
     "v4l2:/dev/video0 for one of this machine. push: for frames that a client sends. test: for "
     "a moving test picture. docs/sources.md says more.",
     ForTasks::kAll,
     kRequired},
    {"loop", FlagType{}, Member([](auto& t) -> auto& { return t.stream->source.loop; }),
     "A file: begin again at its end."},
    {"as_camera", FlagType{}, Member([](auto& t) -> auto& { return t.stream->source.as_camera; }),
     "A file: send frames at its own rate without waiting, as a camera does. false: the file waits "
     "for the model, and loses no frame. For push:, true drops frames instead of waiting for the "
     "model."},
    {"queue", WholeType{1, 64},
     Member([](auto& t) -> auto& { return t.stream->source.queue_capacity; }),
     "The number of frames that may wait for the model, 1 to 64. A full queue of a camera drops a "
     "frame."},
    {"queue_policy",
     ChoiceType{QueuePolicies},
     {QueuePolicyOf, SetQueuePolicy},
     "That frame: drop_oldest (so that the model sees the freshest) or drop_newest. A file's "
     "frames wait: block."},
    {"max_fps", RealType{0, 1000},
     Member([](auto& t) -> auto& { return t.stream->source.max_frames_per_second; }),
     "The highest frame rate, per second: the source skips the other frames at once. 0: no limit."},
    {"fps", RealType{0.01, 1000},
     Member([](auto& t) -> auto& { return t.stream->source.images_per_second; }),
     "A folder of images only: its frames per second."},
    {"hw_decode", ChoiceType{HardwareDecodes}, Enumeration<HardwareDecodes>([](auto& t) -> auto& {
       return t.stream->source.hardware_decode;
     }),
     "The video decoder, except for test: and push:. auto: hardware if GStreamer finds a decoder. "
     "require: only hardware. off: the CPU."},
    {"test_frames_per_second", WholeType{1, 1000},
     Member([](auto& t) -> auto& { return t.stream->source.test_frames_per_second; }),
     "test: only. Frames a second."},
    {"transport", ChoiceType{Transports},
     Enumeration<Transports>([](auto& t) -> auto& { return Camera(t).transport; }),
     "rtsp: and rtsps: only, from here on. The transport of packets: tcp, udp, or auto, which "
     "tries udp first."},
    {"latency_ms", WholeType{0, 10'000}, Member([](auto& t) -> auto& { return Camera(t).latency; }),
     "The time to wait for packets out of order. It delays all pictures by the same time."},
    {"connect_timeout_ms", WholeType{100, 600'000},
     Member([](auto& t) -> auto& { return Camera(t).connect_timeout; }),
     "The time for a camera's first frame, and the time between two frames. Then the server "
     "reconnects; after half of the second time the camera counts as stalled. A start waits 5 s of "
     "the first time at most."},
    {"stall_timeout_ms", WholeType{100, 3'600'000},
     Member([](auto& t) -> auto& { return Camera(t).stall_timeout; })},
    {"backoff_ms",
     WholesType{{2, 2}, {1, 3'600'000}},
     {BackoffOf, SetBackoff},
     "The wait before it reconnects: first the shorter one, then twice as long after each failed "
     "try, up to the longer one. The server never gives up."},
    {"user", TextType{}, Member([](auto& t) -> auto& { return Camera(t).login.user; }),
     "The login, if it is not in the URI. The server reads the password from the file, or the "
     "environment variable, for each connection, and never shows it. The URI may also have only "
     "the user: rtsp://USER@HOST/PATH."},
    {"password_file", PathType{},
     Member([](auto& t) -> auto& { return Camera(t).login.password_file; })},
    {"password_env", TextType{},
     Member([](auto& t) -> auto& { return Camera(t).login.password_variable; })},
    {"tls_ca_file", PathType{}, Member([](auto& t) -> auto& { return Camera(t).tls.ca_file; }),
     "rtsps: only. The trusted certificates, in PEM; left out: those of this machine. And whether "
     "to check the camera's certificate: with false, any machine may pretend to be the camera."},
    {"tls_verify", FlagType{}, Member([](auto& t) -> auto& { return Camera(t).tls.verify; })},
    {"isolate", FlagType{}, Member([](auto& t) -> auto& { return Camera(t).isolate; }),
     "Decode the video in its own process: data of a camera can end this process, but not the "
     "server."},
};

// Notes an error for each of `keys` in `source`. The kind of source does not support them.
void RefuseKeys(const Value& stream, const Value& source, std::span<const std::string_view> keys,
                std::string_view for_what) {
  for (const std::string_view key : keys) {
    if (source.Find(key)) {
      stream.WrongAt("source", key, absl::StrCat("is for ", std::string(for_what), " only"));
    }
  }
}

void CheckQueuePolicy(const Value& stream, const ingest::SourceOptions& source) {
  if (!source.when_full) return;
  const bool waits = source.when_full == ingest::WhenFull::kWait;
  if (waits && !ingest::CanWait(source)) {
    stream.WrongAt("source", "queue_policy",
                   "is block, which is for files and push: what a camera shows cannot wait; take "
                   "drop_oldest or drop_newest");
  }
  if (!waits && ingest::CanWait(source)) {
    stream.WrongAt("source", "queue_policy",
                   "drops frames, which files and push: need not: take block, or set as_camera");
  }
}

/// The keys and the URI of a kind of source.
void CheckKind(const Value& stream, const ingest::SourceOptions& source, const Value& keys,
               const ingest::Uri& uri, std::optional<Kind> kind) {
  const bool file = kind == Kind::kFile;
  const bool push = kind == Kind::kPush;
  if (source.loop && !file) stream.WrongAt("source", "loop", "is for files only");
  if (source.as_camera && !file && !push) {
    stream.WrongAt("source", "as_camera", "is for files and push: only");
  }
  if (!file && keys.Find("fps")) {
    stream.WrongAt("source", "fps", "is for folders of images only");
  }
  if (push && !uri.rest.empty()) {
    stream.WrongAt("source", "uri", "has something behind push:; write push: alone");
  }
  if (kind != Kind::kTestPicture && keys.Find("test_frames_per_second")) {
    stream.WrongAt("source", "test_frames_per_second", "is for test: only");
  }
}

/// The keys of a connection to a camera, and of a decoder.
void CheckConnection(const Value& stream, const ingest::SourceOptions& source, const Value& keys,
                     const ingest::Uri& uri, std::optional<Kind> kind) {
  const bool push = kind == Kind::kPush;
  if (push || kind == Kind::kTestPicture) {
    RefuseKeys(stream, keys, kDecoderKeys, "files, v4l2:, rtsp: and rtsps:");
  }
  if (push || kind == Kind::kFile) RefuseKeys(stream, keys, kConnectionKeys, "cameras");
  if (kind != Kind::kRtspCamera) RefuseKeys(stream, keys, kRtspKeys, "rtsp: and rtsps:");
  if (uri.scheme != "rtsps") {
    RefuseKeys(stream, keys, kRtspsKeys, "rtsps:");
  } else if (source.camera.transport != ingest::Transport::kTcp) {
    stream.WrongAt("source", "transport",
                   "must be tcp for rtsps:, whose pictures UDP would not encrypt");
  }
}

void CheckLogin(const Value& stream, const StreamConfig& config, const ingest::CameraUri& uri) {
  const ingest::Login& login = config.source.camera.login;
  const std::string_view password = login.password_file.empty() ? "password_env" : "password_file";
  if (!login.password_file.empty() && !login.password_variable.empty()) {
    stream.WrongAt("source", "password_env", "must not be beside password_file");
  }
  if (!login.user.empty() && uri.has_login) {
    stream.WrongAt("source", "user", "must not be beside a user in the URI");
  } else if (ingest::HasPassword(login) && login.user.empty() && !uri.has_login) {
    stream.WrongAt("source", password, "needs a user");
  } else if (ingest::HasPassword(login) && !uri.password.empty()) {
    stream.WrongAt("source", password, "must not be beside a password in the URI");
  }
}

}  // namespace

ConfigKeys SourceKeys() { return kSourceKeys; }

void CheckSource(const ConfigValue& stream, const StreamConfig& config) {
  const ingest::SourceOptions& source = config.source;
  const absl::StatusOr<ingest::Uri> uri = ingest::ParseUri(source.uri);
  const std::optional<ConfigValue> keys = stream.Find("source");
  if (!uri.ok() || !keys) return;
  const std::optional<Kind> kind = ingest::KindOf(*uri);
  CheckKind(stream, source, *keys, *uri, kind);
  CheckQueuePolicy(stream, source);
  CheckConnection(stream, source, *keys, *uri, kind);
  if (kind != Kind::kRtspCamera) return;
  if (const auto camera = ingest::ParseCameraUri(*uri); camera.ok()) {
    CheckLogin(stream, config, *camera);
  }
}

}  // namespace millrace::service
