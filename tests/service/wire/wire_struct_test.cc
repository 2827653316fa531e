#include "service/wire/wire_struct.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error_reason.h"
#include "service/config/config_entry.h"

namespace millrace::service {
namespace {

std::vector<std::string> WrongFields(const google::protobuf::Struct& object) {
  std::vector<std::string> fields;
  for (const FieldViolation& wrong : FieldViolationsOf(ToJson(object, "config").status())) {
    fields.push_back(wrong.field);
  }
  return fields;
}

TEST(WireStructTest, WhatGoesOutComesBack) {
  const std::string json =
      R"({"a":[1,"x",{"b":true}],"name":"gate","rate":0.25,"seed":"9007199254740993"})";
  const absl::StatusOr<std::string> back = ToJson(ToStruct(json), "config");
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(SameEntry(*back, json)) << *back;
}

TEST(WireStructTest, TheGreatestExactNumberIsTakenAndTheNextIsNot) {
  google::protobuf::Struct object;
  for (const double sign : {1, -1}) {
    (*object.mutable_fields())["seed"].set_number_value(sign * static_cast<double>(kMaxExact));
    EXPECT_TRUE(ToJson(object, "config").ok());
    (*object.mutable_fields())["seed"].set_number_value(sign *
                                                        (static_cast<double>(kMaxExact) + 1));
    EXPECT_THAT(WrongFields(object), testing::ElementsAre("config.seed"));
  }
}

TEST(WireStructTest, NumbersThatSayNothingCertainAreNamedWhereverTheyAre) {
  google::protobuf::Struct object;
  auto& fields = *object.mutable_fields();
  fields["rate"].set_number_value(std::numeric_limits<double>::quiet_NaN());
  (*fields["model"].mutable_struct_value()->mutable_fields())["seed"].set_number_value(1e300);
  auto& list = *fields["cuts"].mutable_list_value();
  list.add_values()->set_number_value(1);
  list.add_values()->set_number_value(std::numeric_limits<double>::infinity());
  EXPECT_THAT(WrongFields(object),
              testing::UnorderedElementsAre("config.rate", "config.model.seed", "config.cuts[1]"));
  EXPECT_THAT(std::string(ToJson(object, "config").status().message()),
              testing::HasSubstr("write it as text"));
}

TEST(WireStructTest, OfManyThatAreWrongTheFirstAreNamed) {
  google::protobuf::Struct object;
  auto& list = *(*object.mutable_fields())[std::string(10'000, 'k')].mutable_list_value();
  for (int i = 0; i < 1'000; ++i) list.add_values()->set_number_value(1e300);
  EXPECT_EQ(WrongFields(object).size(), 20u);
}

}  // namespace
}  // namespace millrace::service
