#include "report/live/json_change.h"

#include <gtest/gtest.h>

#include <string>

namespace horizon {
namespace {

TEST(JsonChange, EqualTextsHaveNone) {
  EXPECT_EQ(JsonChange("{}", "{}"), "[]");
  EXPECT_EQ(JsonChange(R"({"a": [1, 2]})", R"({"a": [1, 2]})"), "[]");
  EXPECT_EQ(JsonChange(R"({"a": 1, "b": 2})", R"({ "b": 2 , "a" : 1 })"), "[]");
}

TEST(JsonChange, AMemberIsSetAddedOrRemoved) {
  EXPECT_EQ(JsonChange(R"({"a": 1, "b": 2})", R"({"a": 1, "b": 3})"), R"([["set", ["b"], 3]])");
  EXPECT_EQ(JsonChange(R"({})", R"({"a": {"b": []}})"), R"([["set", ["a"], {"b": []}]])");
  EXPECT_EQ(JsonChange(R"({"a": null, "b": 2})", R"({"b": 2})"), R"([["remove", ["a"]]])");
  EXPECT_EQ(JsonChange(R"({"a": null})", R"({"a": {"b": 1}})"), R"([["set", ["a"], {"b": 1}]])");
  EXPECT_EQ(JsonChange(R"({"a": {"b": 1}})", R"({"a": null})"), R"([["set", ["a"], null]])");
}

TEST(JsonChange, ObjectsAreGoneThroughMemberByMember) {
  EXPECT_EQ(JsonChange(R"({"a": {"b": {"c": 1, "d": 2}, "e": 3}})",
                       R"({"a": {"b": {"c": 1, "d": 4}, "e": 3}})"),
            R"([["set", ["a", "b", "d"], 4]])");
}

TEST(JsonChange, AnArrayThatGrewGetsOnlyWhatIsNew) {
  EXPECT_EQ(JsonChange(R"({"m": {"step": [1, 2], "loss": [3.5, 3]}})",
                       R"({"m": {"step": [1, 2, 3, 4], "loss": [3.5, 3, 2.5, 2]}})"),
            R"([["append", ["m", "loss"], [2.5, 2]], ["append", ["m", "step"], [3, 4]]])");
  EXPECT_EQ(JsonChange(R"({"a": []})", R"({"a": [[1], {"b": 2}]})"),
            R"([["append", ["a"], [[1], {"b": 2}]]])");
  EXPECT_EQ(JsonChange(R"({"a": ["x, ]"]})", R"({"a": ["x, ]", "y"]})"),
            R"([["append", ["a"], ["y"]]])");
}

TEST(JsonChange, AnArrayThatDidNotOnlyGrowIsSet) {
  EXPECT_EQ(JsonChange(R"({"a": [1]})", R"({"a": [12]})"), R"([["set", ["a"], [12]]])");
  EXPECT_EQ(JsonChange(R"({"a": [1]})", R"({"a": [12, 3]})"), R"([["set", ["a"], [12, 3]]])");
  EXPECT_EQ(JsonChange(R"({"a": [1, 2]})", R"({"a": [1]})"), R"([["set", ["a"], [1]]])");
  EXPECT_EQ(JsonChange(R"({"a": [1, 2]})", R"({"a": []})"), R"([["set", ["a"], []]])");
  EXPECT_EQ(JsonChange(R"({"a": [1, 2]})", R"({"a": [2, 2, 3]})"),
            R"([["set", ["a"], [2, 2, 3]]])");
  EXPECT_EQ(JsonChange(R"({"a": "[1"})", R"({"a": "[1, 2"})"), R"([["set", ["a"], "[1, 2"]])");
}

TEST(JsonChange, WhatSeparatesDoesNotSeparateInsideStrings) {
  EXPECT_EQ(JsonChange(R"({"a:,{\"": "},:[", "b\\": 1})", R"({"a:,{\"": "},:[", "b\\": 2})"),
            R"([["set", ["b\\"], 2]])");
}

}  // namespace
}  // namespace horizon
