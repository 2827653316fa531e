#include "service/config/config_print.h"

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "service/config/config_entry.h"

namespace millrace::service {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string TextOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(MILLRACE_SOURCE_DIR "/" + path).rdbuf();
  return text.str();
}

/// Configurations of every kind of stream, and the shipped ones.
const std::vector<std::string>& Files() {
  static const std::vector<std::string> files = {TextOf("samples/millrace.yaml"),
                                                 TextOf("samples/walk-through.yaml"),
                                                 TextOf("deploy/millrace.yaml"),
                                                 "version: 1\nstreams: []\n",
                                                 R"(version: 1
listen: {address: 0.0.0.0, allow_plain_text: true, control: "off"}
budget:
client_sources: {schemes: rtsp, hosts: [10.0.0.*, "*.example.org"], files: true}
checkpoints: {folder: kept}
streams:
- {name: door, source: {uri: 'rtsp://user:sesame@camera/1', queue_policy: drop_newest}}
- {name: gate, source: {uri: 'rtsps://camera/2', user: viewer, password_env: CAMERA, tls_verify: false}}
- {name: usb, source: {uri: 'v4l2:/dev/video0', max_fps: 12.5}, schedule: {kind: auto, stages: 3, frames_per_second: 5}}
- {name: pictures, source: {uri: 'frames/*.png', fps: 12}, learning: {policy: mag, every: 3}}
- {name: pushed, source: {uri: 'push:'}, model: {task: next_frame, seed: 900719925474099}}
- {name: test, source: {uri: 'test:ball', test_frames_per_second: 7},
   schedule: {kind: gpipe, samples: 2, recompute: except_last, cuts: [1, 2], stages: 3, devices: [cpu, cpu, cpu]}}
)",
                                                 R"(version: 1
model: {task: classification, classes: [still, moving, 7], window: 8}
streams:
- {name: a, source: {uri: 'test:'}}
- {name: b, source: {uri: 'test:'}, model: {classes: [x, y], input: [40, 24], pictures: colour}}
)",
                                                 R"(version: 1
streams:
- {name: a, source: {uri: 'push:'}, model: {task: regression, outputs: 3, network: convolutional},
   checkpoints: {folder: kept, every: 5}}
)"};
  return files;
}

/// What is wrong with a configuration; nothing if it is right.
std::string Refusal(const std::string& text) {
  return std::string(ParseConfig(text, "file").status().message());
}

Config Parse(const std::string& text) {
  absl::StatusOr<Config> config = ParseConfig(text, "file");
  EXPECT_TRUE(config.ok()) << config.status() << "\n" << text;
  return config.ok() ? *std::move(config) : Config();
}

std::vector<std::string> StreamsInForce(const Config& config) {
  std::vector<std::string> streams;
  for (const StreamConfig& stream : config.streams) {
    streams.push_back(stream.effective);
  }
  return streams;
}

TEST(PrintConfigTest, ReadAgainItIsTheSame) {
  for (const std::string& file : Files()) {
    const Config config = Parse(file);
    const std::string printed = PrintConfig(config);
    const Config again = Parse(printed);
    EXPECT_EQ(PrintConfig(again), printed);
    if (absl::StrContains(file, "sesame")) continue;  // It is not told.
    EXPECT_EQ(StreamsInForce(again), StreamsInForce(config));
  }
}

TEST(PrintConfigTest, ShowsEachDefaultAndWhatIsNotSet) {
  const std::string printed =
      PrintConfig(Parse("version: 1\nstreams: [{name: a, source: {uri: 'test:'}}]\n"));
  EXPECT_THAT(
      printed,
      AllOf(HasSubstr("version: 1\n"), HasSubstr("\n  grpc_port: 50051\n"),
            HasSubstr("\n  # tokens_file: not set\n"), HasSubstr("\n# budget: not set\n"),
            HasSubstr("\nstreams:\n  - name: a\n    source:\n      uri: \"test:\"\n"),
            HasSubstr("\n      queue_policy: drop_oldest\n"),
            HasSubstr("\n      learning_rate: 0.0001\n"), HasSubstr("\n      # weights: not set\n"),
            HasSubstr("\n      # frames_per_second: not set\n")));
}

TEST(PrintConfigTest, LeavesOutWhatIsForOtherKinds) {
  const std::string printed =
      PrintConfig(Parse("version: 1\nstreams: [{name: a, source: {uri: 'test:'}}]\n"));
  EXPECT_THAT(printed, AllOf(Not(HasSubstr("transport")), Not(HasSubstr("window:")),
                             HasSubstr("test_frames_per_second: 30")));
  const std::string file =
      PrintConfig(Parse("version: 1\nstreams: [{name: a, source: {uri: b.avi}}]\n"));
  EXPECT_THAT(file, Not(HasSubstr("test_frames_per_second")));
}

TEST(PrintConfigTest, ShowsThatACameraIsNotIsolated) {
  const std::string file =
      "version: 1\nstreams: [{name: a, source: {uri: 'rtsp://c/1', isolate: false}}]\n";
  EXPECT_THAT(PrintConfig(Parse(file)), HasSubstr("\n      isolate: false\n"));
}

TEST(PrintConfigTest, TellsNoPassword) {
  for (const std::string& file : Files()) {
    EXPECT_THAT(PrintConfig(Parse(file)), Not(HasSubstr("sesame")));
  }
}

/// What an author wrote as text is text in every YAML.
TEST(PrintConfigTest, QuotesWhatOtherReadersTakeForSomethingElse) {
  const std::string printed =
      PrintConfig(Parse("version: 1\nlisten: {control: 'off'}\nstreams:\n"
                        "- {name: '17', source: {uri: 'rtsp://c/1', user: no}}\n"));
  EXPECT_THAT(printed, HasSubstr("control: \"off\""));
  EXPECT_THAT(printed, HasSubstr("- name: \"17\""));
}

TEST(PrintConfigTest, APathNeedNotBeUtf8) {
  const Config config = Parse(
      "version: 1\nstreams: [{name: a, source: {uri: 'stra\xdf"
      "e.avi'}}]\n");
  EXPECT_EQ(config.streams.front().source.uri,
            "stra\xdf"
            "e.avi");
  EXPECT_THAT(PrintConfig(config), HasSubstr("uri: \"stra"));
  EXPECT_TRUE(ChangedKeys(config, config).empty());
}

TEST(StreamConfigTest, TellsWhetherDefaultsChangeAStream) {
  const std::string stream = "streams: [{name: a, source: {uri: 'test:'}}]\n";
  const std::string of_file = StreamsInForce(Parse("version: 1\n" + stream))[0];
  EXPECT_EQ(of_file, StreamsInForce(Parse("version: 1\nmodel: {smoothness: 10}\n" + stream))[0]);
  EXPECT_NE(of_file, StreamsInForce(Parse("version: 1\nmodel: {smoothness: 0.2}\n" + stream))[0]);
}

class ConfigSchemaTest : public ::testing::Test {
 protected:
  ConfigSchemaTest() {
    const valijson::adapters::NlohmannJsonAdapter adapter(json_);
    valijson::SchemaParser(valijson::SchemaParser::kDraft7).populateSchema(adapter, schema_);
  }

  bool Accepts(const json& file) {
    valijson::Validator validator(valijson::Validator::kStrongTypes);
    return validator.validate(schema_, valijson::adapters::NlohmannJsonAdapter(file), nullptr);
  }

  /// The schema of what `pointer`, of a file, points to.
  json At(const json::json_pointer& pointer) const {
    if (pointer.empty()) return json_;
    const json parent = At(pointer.parent_pointer());
    return parent.contains("items") ? parent["items"] : parent["properties"][pointer.back()];
  }

  /// Puts `value` into `file`, and compares the answers of schema and parser. Numbers in quotes are
  /// numbers only for the parser.
  void Try(json file, const json::json_pointer& at, const json& value) {
    SCOPED_TRACE(absl::StrCat(at.to_string(), " = ", value.dump()));
    file[at] = value;
    const bool accepted = Accepts(file);
    const std::string refusal = Refusal(file.dump());
    if (refusal.empty()) {
      EXPECT_TRUE(accepted);
    } else if (accepted) {  // Keys that do not fit together, and texts of a form of their own.
      EXPECT_FALSE(absl::StrContains(refusal, absl::StrCat("'", at.back(), "' must be a ")))
          << refusal;
      EXPECT_FALSE(absl::StrContains(refusal, "it must be a whole")) << refusal;
      EXPECT_FALSE(absl::StrContains(refusal, "it must be a number")) << refusal;
      EXPECT_FALSE(absl::StrContains(refusal, "must be true")) << refusal;
      EXPECT_FALSE(absl::StrContains(refusal, "entries; it must")) << refusal;
      EXPECT_FALSE(absl::StrContains(refusal, "unknown key")) << refusal;
      EXPECT_FALSE(absl::StrContains(refusal, "has no key")) << refusal;
    }
  }

  void TryLimits(const json& file, const json::json_pointer& at) {
    const json schema = At(at);
    if (!schema.contains("minimum")) return;
    const json min = schema["minimum"];
    const json max = schema["maximum"];
    EXPECT_TRUE(Accepts(With(file, at, min))) << at;
    EXPECT_TRUE(Accepts(With(file, at, max))) << at;
    for (const json& beyond : {json(min.get<double>() - 1), json(max.get<double>() * 2 + 1)}) {
      EXPECT_FALSE(Accepts(With(file, at, beyond))) << at;
      EXPECT_NE(Refusal(With(file, at, beyond).dump()), "") << at;
    }
    Try(file, at, min);
    Try(file, at, max);
  }

  static json With(json file, const json::json_pointer& at, const json& value) {
    file[at] = value;
    return file;
  }

  const json json_ = json::parse(ConfigJsonSchema());
  valijson::Schema schema_;
};

/// Every place of a document, sections too.
std::vector<json::json_pointer> PlacesOf(const json& value,
                                         const json::json_pointer& at = json::json_pointer()) {
  std::vector<json::json_pointer> places;
  if (!at.empty()) places.push_back(at);
  if (!value.is_structured()) return places;
  for (const auto& [key, entry] : value.items()) {
    if (value.is_array() && !entry.is_object()) continue;
    const json::json_pointer below =
        value.is_array() ? at / static_cast<std::size_t>(std::stoul(key)) : at / key;
    for (const auto& place : PlacesOf(entry, below)) places.push_back(place);
  }
  return places;
}

/// A configuration with each key that it can have, as YAML 1.2 has it.
json Document(const std::string& file) {
  return json::parse(EntryJson(YAML::Load(PrintConfig(Parse(file)))));
}

TEST_F(ConfigSchemaTest, AcceptsWhatIsRight) {
  for (const std::string& file : Files()) {
    EXPECT_TRUE(Accepts(Document(file))) << file;
    EXPECT_TRUE(Accepts(json::parse(EntryJson(YAML::Load(file))))) << file;
  }
}

TEST_F(ConfigSchemaTest, SaysOfEachValueWhatTheParserSays) {
  const std::vector<json> values = {true,
                                    0,
                                    -1,
                                    1,
                                    3,
                                    17,
                                    48,
                                    0.5,
                                    -0.5,
                                    7e5,
                                    "",
                                    "a",
                                    "auto",
                                    "cpu",
                                    json::array(),
                                    json::array({1}),
                                    json::array({1, 2}),
                                    json::array({"a", "b"}),
                                    json::array({"rtsp"}),
                                    json::object(),
                                    json::object({{"unknown", 1}}),
                                    nullptr};
  for (const std::string& file : {Files()[4], Files()[5], Files()[6]}) {
    const json document = Document(file);
    for (const json::json_pointer& place : PlacesOf(document)) {
      // Its limits go by the task, which a schema of a file does not know.
      if (place.back() == "input") continue;
      // One stream stands for all, but for what differs from source to source.
      const std::string name = place.to_string();
      if (absl::StartsWith(name, "/streams/") && !absl::StartsWith(name, "/streams/0/") &&
          !absl::StrContains(name, "/source/")) {
        continue;
      }
      for (const json& value : values) Try(document, place, value);
      TryLimits(document, place);
    }
  }
}

TEST_F(ConfigSchemaTest, WantsWhatTheParserWants) {
  const json document = Document(Files()[4]);
  for (const json::json_pointer& place : PlacesOf(document)) {
    json without = document;
    json& parent = without[place.parent_pointer()];
    if (parent.is_array()) {
      parent.erase(std::stoul(place.back()));
    } else {
      parent.erase(place.back());
    }
    EXPECT_TRUE(Accepts(without) || !Refusal(without.dump()).empty()) << place;
    const bool missed = absl::StrContains(Refusal(without.dump()), "has no key");
    EXPECT_EQ(Accepts(without), !missed) << place;
  }
}

/// The keys of a schema without a description, as "model.network".
std::vector<std::string> Unexplained(const json& schema, const std::string& path = "") {
  std::vector<std::string> keys;
  if (schema.contains("items")) return Unexplained(schema["items"], path + "[]");
  if (!schema.contains("properties")) return keys;
  for (const auto& [key, value] : schema["properties"].items()) {
    const std::string at = absl::StrCat(path, path.empty() ? "" : ".", key);
    if (!value.contains("description")) keys.push_back(at);
    for (const std::string& below : Unexplained(value, at)) keys.push_back(below);
  }
  return keys;
}

TEST_F(ConfigSchemaTest, SaysWhatEachKeyMeansAsTheSampleDoes) {
  EXPECT_THAT(Unexplained(json_),
              testing::UnorderedElementsAre("listen.tls.certificate", "listen.tls.key",
                                            "listen.tls.client_ca"))
      << "they are explained with listen.tls";
  EXPECT_EQ(At("/listen/http_port"_json_pointer)["description"], "The live page, for browsers.");
  EXPECT_EQ(At("/model/width"_json_pointer)["description"],
            At("/streams/0/model/layers"_json_pointer)["description"]);
  EXPECT_EQ(At("/streams/0/source/loop"_json_pointer)["description"],
            "A file: begin again at its end.");
}

TEST_F(ConfigSchemaTest, NamesDefaults) {
  EXPECT_EQ(At("/listen/grpc_port"_json_pointer)["default"], 50051);
  EXPECT_EQ(At("/streams/0/source/transport"_json_pointer)["default"], "tcp");
  EXPECT_FALSE(At("/model/weights"_json_pointer).contains("default"));
}

}  // namespace
}  // namespace millrace::service
