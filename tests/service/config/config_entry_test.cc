#include "service/config/config_entry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/checkpoint/checksum.h"

namespace millrace::service {
namespace {

using ::testing::HasSubstr;

std::string Json(const std::string& yaml) { return EntryJson(YAML::Load(yaml)); }

TEST(ConfigEntryTest, IsKeptAsItWasWritten) {
  EXPECT_EQ(Json("{name: gate, source: {uri: 'a b', max_fps: 25, loop: true, x: 0.5}}"),
            R"({"name":"gate","source":{"loop":true,"max_fps":25,"uri":"a b","x":0.5}})");
  EXPECT_EQ(Json("{a: '25', b: 007, c: 1e3, d: [1, x], e: , f: yes}"),
            R"({"a":"25","b":"007","c":"1e3","d":[1,"x"],"e":null,"f":"yes"})");
}

TEST(ConfigEntryTest, IsShownWithoutTheLoginOfItsUri) {
  EXPECT_EQ(ShownEntry(R"({"source":{"uri":"rtsp://me:pw@camera/1"}})"),
            R"({"source":{"uri":"rtsp://***@camera/1"}})");
  EXPECT_EQ(ShownEntry(R"({"source":5})"), R"({"source":5})");
}

TEST(ConfigEntryTest, WhatIsShownComesBackWithItsLoginAndName) {
  const std::string current = R"({"name":"gate","source":{"uri":"rtsp://me:pw@camera/1"}})";
  EXPECT_EQ(Completed(R"({"source":{"uri":"rtsp://***@camera/1"}})", "gate", current), current);
  EXPECT_EQ(Completed(R"({"source":{"uri":"rtsp://***@camera/2"}})", "gate", current),
            R"({"name":"gate","source":{"uri":"rtsp://***@camera/2"}})")
      << "another camera's login is not guessed";
  EXPECT_EQ(Completed("[]", "gate", current), "[]");
}

TEST(ConfigEntryTest, WholeNumbersThatJsonWouldRoundAreText) {
  EXPECT_EQ(Json("{a: 9007199254740991, b: -9007199254740991}"),
            R"({"a":9007199254740991,"b":-9007199254740991})");
  EXPECT_EQ(Json("{a: 9007199254740993, b: -9007199254740992}"),
            R"({"a":"9007199254740993","b":"-9007199254740992"})");
}

TEST(ConfigEntryTest, IsTheSameHoweverItsNumbersAreWritten) {
  EXPECT_TRUE(SameEntry(R"({"a":10.0,"b":"x"})", R"({"b":"x","a":10})"));
  EXPECT_FALSE(SameEntry(R"({"a":10})", R"({"a":11})"));
  EXPECT_FALSE(SameEntry(R"({"a":10})", R"({})"));
}

TEST(ConfigEntryTest, TellsWhatCanChangeWhileItLearns) {
  for (const char* const key : {"source", "source.uri", "learning.every", "model.learning_rate",
                                "optimizer.momentum", "optimizer.clip_update"}) {
    EXPECT_TRUE(CanChangeWhileItLearns(key)) << key;
  }
  for (const char* const key :
       {"model", "model.seed", "schedule.stages", "sources.uri", "optimizer", "optimizer.kind"}) {
    EXPECT_FALSE(CanChangeWhileItLearns(key)) << key;
  }
  EXPECT_TRUE(IsOfSource("source.uri"));
  EXPECT_FALSE(IsOfSource("learning.every"));
}

TEST(ConfigEntryTest, TakesWholeSectionsFromAnother) {
  EXPECT_EQ(WithSectionsOf(R"({"model":{"seed":1},"name":"a","schedule":{"stages":2}})",
                           R"({"model":{"input":[4,2]},"name":"b"})",
                           {"model.seed", "schedule.stages", "learning"}),
            R"({"model":{"input":[4,2]},"name":"a"})");
}

TEST(ConfigEntryTest, AnEtagIsTheSameForTheSame) {
  EXPECT_EQ(EtagOf("{}"), EtagOf("{}"));
  EXPECT_NE(EtagOf("{}"), EtagOf("{ }"));
  EXPECT_EQ(EtagOf("").size(), 16u);
}

// What an etag stands for is shown beside it, all but the login: with a plain sum of the entry one
// could try logins until the sum fits.
TEST(ConfigEntryTest, AnEtagIsNoSumThatAnybodyCanMake) {
  const std::string entry = R"({"source":{"uri":"rtsp://me:pw@camera/1"}})";
  EXPECT_NE(EtagOf(entry), pipeline::Checksum(entry));
}

}  // namespace
}  // namespace millrace::service
