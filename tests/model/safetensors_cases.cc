#include "tests/model/safetensors_cases.h"

#include "common/text/str_cat.h"
#include "model/files/dtype.h"

namespace horizon {
namespace {

using Cases = std::vector<SafetensorsCase>;
using std::string_literals::operator""s;

void Accept(Cases& cases, std::string_view name, std::string_view header, uint64_t data_bytes) {
  cases.push_back({StrCat("accept_", name), SafetensorsFile(header, data_bytes), true, ""});
}

void Refuse(Cases& cases, std::string name, std::string_view header, uint64_t data_bytes,
            std::string message) {
  cases.push_back(
      {std::move(name), SafetensorsFile(header, data_bytes), false, std::move(message)});
}

void RefuseBytes(Cases& cases, std::string name, std::string bytes, std::string message) {
  cases.push_back({std::move(name), std::move(bytes), false, std::move(message)});
}

std::string One(std::string_view dtype, std::string_view shape, std::string_view offsets) {
  return StrCat("{", EntryText("a", dtype, shape, offsets), "}");
}

std::string Repeated(std::string_view text, size_t times) {
  std::string result;
  result.reserve(text.size() * times);
  for (size_t i = 0; i < times; ++i) result += text;
  return result;
}

void AddLengths(Cases& cases) {
  const std::string rest = "{}      ";
  for (size_t bytes = 0; bytes < 8; ++bytes) {
    RefuseBytes(cases, StrCat("file_of_", bytes, "_bytes"), std::string(bytes, '\1'),
                "fewer than the 8");
  }
  RefuseBytes(cases, "length_all_ones", LengthPrefix(~uint64_t{0}) + rest,
              "more than the 100000000");
  RefuseBytes(cases, "length_2_63", LengthPrefix(uint64_t{1} << 63) + rest,
              "more than the 100000000");
  // 8 + N wraps to 0 and to 4: both would "fit".
  RefuseBytes(cases, "length_wraps_to_0", LengthPrefix(~uint64_t{0} - 7) + rest, "more than");
  RefuseBytes(cases, "length_wraps_to_4", LengthPrefix(~uint64_t{0} - 3) + rest, "more than");
  RefuseBytes(cases, "length_one_past_the_file", LengthPrefix(9) + rest, "truncated");
  RefuseBytes(cases, "length_is_file_size", LengthPrefix(16) + rest, "truncated");
  RefuseBytes(cases, "length_at_the_cap", LengthPrefix(100'000'000) + rest, "truncated");
  RefuseBytes(cases, "length_over_the_cap", LengthPrefix(100'000'001) + rest, "more than");
  RefuseBytes(cases, "length_2_32", LengthPrefix(uint64_t{1} << 32) + rest, "more than");
  RefuseBytes(cases, "length_0", LengthPrefix(0), "header is empty");
  RefuseBytes(cases, "length_0_with_data", LengthPrefix(0) + rest, "header is empty");
  RefuseBytes(cases, "length_big_endian", "\0\0\0\0\0\0\0\x08"s + rest, "more than");
}

void AddTexts(Cases& cases) {
  const std::string good = EntryText("a", "U8", "[1]", "[0,1]");
  Refuse(cases, "byte_ff_in_name", StrCat("{", EntryText("\xFF", "U8", "[1]", "[0,1]"), "}"), 1,
         "JSON");
  Refuse(cases, "overlong_in_name", StrCat("{", EntryText("\xC0\x80", "U8", "[1]", "[0,1]"), "}"),
         1, "JSON");
  Refuse(cases, "surrogate_in_name",
         StrCat("{", EntryText("\xED\xA0\x80", "U8", "[1]", "[0,1]"), "}"), 1, "JSON");
  Refuse(cases, "cut_utf8_in_name", StrCat("{", EntryText("\xE2\x82", "U8", "[1]", "[0,1]"), "}"),
         1, "JSON");
  Refuse(cases, "utf8_past_10ffff",
         StrCat("{", EntryText("\xF4\x90\x80\x80", "U8", "[1]", "[0,1]"), "}"), 1, "JSON");
  Refuse(cases, "bad_utf8_in_metadata", "{\"__metadata__\":{\"k\":\"\xFE\"}}", 0, "JSON");
  Refuse(cases, "lone_surrogate_escape",
         StrCat("{", EntryText("\\ud800", "U8", "[1]", "[0,1]"), "}"), 1, "JSON");
  Refuse(cases, "control_character_in_name",
         StrCat("{", EntryText("a\x01", "U8", "[1]", "[0,1]"), "}"), 1, "JSON");
  Refuse(cases, "bad_escape", StrCat("{", EntryText("\\x41", "U8", "[1]", "[0,1]"), "}"), 1,
         "JSON");
  Refuse(cases, "byte_order_mark", "\xEF\xBB\xBF{}", 0, "begin with '{'");
  Refuse(cases, "leading_space", " {}", 0, "begin with '{'");
  Refuse(cases, "leading_newline", "\n{}", 0, "begin with '{'");
  Refuse(cases, "junk_behind", "{}x", 0, "end with '}'");
  Refuse(cases, "second_object", "{}{}", 0, "text follows");
  Refuse(cases, "extra_brace", StrCat("{", good, "}}"), 1, "text follows");
  Refuse(cases, "newline_behind", "{}\n", 0, "end with '}'");
  Refuse(cases, "tab_behind", "{}\t", 0, "end with '}'");
  Refuse(cases, "zero_bytes_behind", "{}\0\0\0\0\0\0"s, 0, "end with '}'");
  Refuse(cases, "only_spaces", "        ", 0, "begin with '{'");
  Refuse(cases, "only_brace", "{", 0, "end with '}'");
  Refuse(cases, "cut_in_the_middle", StrCat("{", good.substr(0, good.size() - 1), "}"), 1, "JSON");
  Refuse(cases, "unclosed_object", StrCat("{", good), 1, "JSON");
  Refuse(cases, "trailing_comma", StrCat("{", good, ",}"), 1, "JSON");
  Refuse(cases, "comment", StrCat("{/**/", good, "}"), 1, "JSON");
  Refuse(cases, "single_quotes", "{'a':{}}", 0, "JSON");
  Refuse(cases, "bare_key", "{a:{}}", 0, "JSON");
  Refuse(cases, "root_is_array", "[]", 0, "begin with '{'");
  Refuse(cases, "root_is_string", "\"a\"", 0, "begin with '{'");
  Refuse(cases, "entry_is_null", "{\"a\":null}", 0, "found null");
  Refuse(cases, "entry_is_string", "{\"a\":\"U8\"}", 0, "found a string");
  Refuse(cases, "entry_is_number", "{\"a\":1}", 0, "found a number");
  Refuse(cases, "entry_is_true", "{\"a\":true}", 0, "found true or false");
  Refuse(cases, "entry_is_array", "{\"a\":[\"U8\",[1],[0,1]]}", 1, "found an array");
  Refuse(cases, "entry_is_empty", "{\"a\":{}}", 0, "dtype is missing");
}

void AddBombs(Cases& cases) {
  Refuse(cases, "brackets_alone", Repeated("[", 1'000'000), 0, "begin with '{'");
  Refuse(cases, "brackets_as_entry", StrCat("{\"a\":", Repeated("[", 1'000'000), "}"), 0,
         "an array");
  Refuse(cases, "brackets_in_shape", StrCat("{\"a\":{\"shape\":", Repeated("[", 1'000'000), "}"), 0,
         "shape cannot hold an array");
  Refuse(cases, "brackets_in_metadata",
         StrCat("{\"__metadata__\":{\"k\":", Repeated("[", 1'000'000), "}"), 0, "an array");
  Refuse(cases, "objects_in_objects", StrCat(Repeated("{\"a\":", 300'000), "}"), 0, "tensor \"a\"");
  Refuse(cases, "closed_brackets_in_shape",
         One("U8", StrCat(Repeated("[", 1000), Repeated("]", 1000)), "[0,1]"), 1, "an array");
}

void AddKeys(Cases& cases) {
  const std::string zero = R"("dtype":"U8","shape":[0],"data_offsets":[0,0])";
  const std::string a = EntryText("a", "U8", "[0]", "[0,0]");
  Refuse(cases, "name_twice", StrCat("{", a, ",", a, "}"), 0, "duplicate tensor \"a\"");
  Refuse(cases, "name_twice_other_range",
         StrCat("{", EntryText("a", "U8", "[1]", "[0,1]"), ",",
                EntryText("a", "U8", "[1]", "[1,2]"), "}"),
         2, "duplicate tensor");
  Refuse(cases, "name_twice_by_escape",
         StrCat("{", a, ",", EntryText("\\u0061", "U8", "[0]", "[0,0]"), "}"), 0,
         "duplicate tensor \"a\"");
  Refuse(cases, "dtype_twice",
         R"({"a":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}})", 0,
         "duplicate key \"dtype\"");
  Refuse(cases, "shape_twice",
         R"({"a":{"dtype":"U8","shape":[0],"shape":[0],"data_offsets":[0,0]}})", 0,
         "duplicate key \"shape\"");
  Refuse(cases, "shape_twice_by_escape",
         R"({"a":{"dtype":"U8","shape":[0],"sh\u0061pe":[0],"data_offsets":[0,0]}})", 0,
         "duplicate key \"shape\"");
  Refuse(cases, "offsets_twice",
         R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"data_offsets":[0,0]}})", 0,
         "duplicate key");
  Refuse(cases, "unknown_key", StrCat("{\"a\":{", zero, ",\"stride\":[1]}}"), 0,
         "unknown key \"stride\"");
  Refuse(cases, "key_in_upper_case", R"({"a":{"DTYPE":"U8","shape":[0],"data_offsets":[0,0]}})", 0,
         "unknown key");
  Refuse(cases, "no_dtype", R"({"a":{"shape":[0],"data_offsets":[0,0]}})", 0, "dtype is missing");
  Refuse(cases, "no_shape", R"({"a":{"dtype":"U8","data_offsets":[0,0]}})", 0, "shape is missing");
  Refuse(cases, "no_offsets", R"({"a":{"dtype":"U8","shape":[0]}})", 0, "data_offsets is missing");
  Refuse(cases, "metadata_twice", R"({"__metadata__":{},"__metadata__":{}})", 0,
         "__metadata__ twice");
  Refuse(cases, "metadata_twice_by_escape", R"({"__metadata__":{},"\u005f_metadata__":{}})", 0,
         "__metadata__ twice");
  Refuse(cases, "metadata_key_twice", R"({"__metadata__":{"k":"1","k":"2"}})", 0, "\"k\" twice");
  Refuse(cases, "metadata_key_twice_by_escape", R"({"__metadata__":{"k":"1","\u006b":"2"}})", 0,
         "\"k\" twice");
  Refuse(cases, "metadata_nested", R"({"__metadata__":{"k":{}}})", 0, "needs a string for \"k\"");
  Refuse(cases, "metadata_of_array", R"({"__metadata__":{"k":["v"]}})", 0, "found an array");
  Refuse(cases, "metadata_of_number", R"({"__metadata__":{"k":1}})", 0, "found a number");
  Refuse(cases, "metadata_of_null", R"({"__metadata__":{"k":null}})", 0, "found null");
  Refuse(cases, "metadata_of_true", R"({"__metadata__":{"k":true}})", 0, "found true or false");
  Refuse(cases, "metadata_is_null", R"({"__metadata__":null})", 0, "needs an object");
  Refuse(cases, "metadata_is_array", R"({"__metadata__":[]})", 0, "needs an object");
  Refuse(cases, "metadata_is_string", R"({"__metadata__":"pt"})", 0, "needs an object");
  Refuse(cases, "metadata_is_tensor", StrCat("{\"__metadata__\":{", zero, "}}"), 0,
         "needs a string");
}

void AddDimensions(Cases& cases) {
  Refuse(cases, "dims_wrap_to_0", One("U8", "[4294967296,4294967296]", "[0,0]"), 0,
         "elements does not fit");
  Refuse(cases, "dims_wrap_to_4", One("U8", "[4194305,4194305,211106198978564]", "[0,4]"), 4,
         "elements does not fit");
  Refuse(cases, "dims_wrap_before_0", One("U8", "[4611686018427387904,4,0]", "[0,0]"), 0,
         "elements does not fit");
  Refuse(cases, "bits_wrap_to_0", One("U8", "[2305843009213693952]", "[0,0]"), 0,
         "bits does not fit");
  Refuse(cases, "bits_wrap_to_0_f32", One("F32", "[576460752303423488]", "[0,0]"), 0,
         "bits does not fit");
  Refuse(cases, "bits_wrap_to_64", One("F64", "[288230376151711745]", "[0,8]"), 8,
         "bits does not fit");
  Refuse(cases, "bits_wrap_f4", One("F4", "[4611686018427387904]", "[0,0]"), 0,
         "bits does not fit");
  Refuse(cases, "dims_huge_but_counted", One("U8", "[1152921504606846976]", "[0,0]"), 0,
         "takes 1152921504606846976 bytes");
  Refuse(cases, "elements_all_ones", One("U8", "[4294967295,4294967297]", "[0,0]"), 0,
         "does not fit");
  Refuse(cases, "shape_is_null", One("U8", "null", "[0,0]"), 0, "shape cannot hold null");
  Refuse(cases, "shape_is_number", One("U8", "1", "[0,1]"), 1, "shape cannot hold a number");
  Refuse(cases, "shape_is_string", One("U8", "\"1\"", "[0,1]"), 1, "shape cannot hold a string");
  Refuse(cases, "shape_is_object", One("U8", "{}", "[0,1]"), 1, "shape cannot hold an object");
}

void AddOffsets(Cases& cases) {
  Refuse(cases, "offsets_reversed", One("U8", "[4]", "[4,0]"), 4, "run backwards");
  Refuse(cases, "offsets_reversed_wrap", One("U8", "[4]", "[9223372036854775807,3]"), 4,
         "run backwards");
  Refuse(cases, "range_below_shape", One("F32", "[2]", "[0,4]"), 4,
         "takes 8 bytes, data_offsets give 4");
  Refuse(cases, "range_above_shape", One("F32", "[1]", "[0,8]"), 8,
         "takes 4 bytes, data_offsets give 8");
  Refuse(cases, "range_without_elements", One("F32", "[0]", "[0,4]"), 4, "takes 0 bytes");
  Refuse(cases, "range_empty_rank_0", One("F32", "[]", "[0,0]"), 0, "takes 4 bytes");
  Refuse(cases, "past_the_end", One("U8", "[8]", "[0,8]"), 4, "past the end");
  Refuse(cases, "far_past_the_end", One("U8", "[0]", "[4611686018427387904,4611686018427387904]"),
         0, "past the end");
  Refuse(cases, "data_missing", One("U8", "[8]", "[0,8]"), 0, "past the end");
  Refuse(cases, "hole_at_start", One("U8", "[4]", "[4,8]"), 8, "hole");
  Refuse(cases, "hole_between",
         StrCat("{", EntryText("a", "U8", "[2]", "[0,2]"), ",",
                EntryText("b", "U8", "[2]", "[3,5]"), "}"),
         5, "tensor \"b\"");
  Refuse(cases, "overlap_by_one",
         StrCat("{", EntryText("a", "U8", "[4]", "[0,4]"), ",",
                EntryText("b", "U8", "[4]", "[3,7]"), "}"),
         7, "overlap");
  Refuse(cases, "same_range",
         StrCat("{", EntryText("a", "U8", "[4]", "[0,4]"), ",",
                EntryText("b", "U8", "[4]", "[0,4]"), "}"),
         4, "overlap");
  Refuse(cases, "range_inside_another",
         StrCat("{", EntryText("a", "U8", "[4]", "[0,4]"), ",",
                EntryText("b", "U8", "[2]", "[1,3]"), "}"),
         4, "overlap");
  Refuse(cases, "empty_inside_another",
         StrCat("{", EntryText("a", "U8", "[4]", "[0,4]"), ",",
                EntryText("b", "U8", "[0]", "[2,2]"), "}"),
         4, "overlap");
  Refuse(cases, "appended_byte", One("U8", "[4]", "[0,4]"), 5, "rest belongs to none");
  Refuse(cases, "data_without_tensors", "{}", 1, "rest belongs to none");
  Refuse(cases, "offsets_none", One("U8", "[0]", "[]"), 0, "needs 2 numbers, found 0");
  Refuse(cases, "offsets_one", One("U8", "[4]", "[4]"), 4, "needs 2 numbers, found 1");
  Refuse(cases, "offsets_three", One("U8", "[4]", "[0,4,4]"), 4, "needs 2 numbers, found more");
  Refuse(cases, "offsets_nested", One("U8", "[4]", "[[0,4]]"), 4, "cannot hold an array");
  Refuse(cases, "offsets_is_number", One("U8", "[4]", "4"), 4, "cannot hold a number");
  Refuse(cases, "offsets_is_object", One("U8", "[4]", "{\"begin\":0}"), 4, "cannot hold an object");

  std::string many = "{";
  for (int i = 0; i < 100'000; ++i) {
    many += StrCat(i == 0 ? "" : ",", EntryText(StrCat("t", i), "U8", "[64]", "[0,64]"));
  }
  Refuse(cases, "many_tensors_on_the_same_bytes", many + "}", 64, "overlap");
}

void AddNumbers(Cases& cases) {
  struct Literal {
    std::string_view name;
    std::string_view text;
    std::string_view message;
  };
  constexpr std::string_view kWhole = "needs whole numbers";
  const Literal literals[] = {
      {"minus_one", "-1", kWhole},
      {"minus_zero", "-0", kWhole},
      {"with_fraction", "1.0", kWhole},
      {"with_exponent", "1e3", kWhole},
      {"exponent_0", "1E0", kWhole},
      {"beyond_double", "1e400", ""},
      {"2_63", "9223372036854775808", kWhole},
      {"2_64", "18446744073709551616", kWhole},
      {"2_64_plus_1", "18446744073709551617", kWhole},
      {"twenty_digits_more", "100000000000000000000000000000000000000001", kWhole},
      {"as_string", "\"1\"", "cannot hold a string"},
      {"as_true", "true", "cannot hold true or false"},
      {"leading_zero", "01", "JSON"},
      {"as_null", "null", "cannot hold null"},
      {"with_plus", "+1", "JSON"},
      {"hexadecimal", "0x1", "JSON"},
      {"not_a_number", "NaN", "JSON"},
      {"infinity", "Infinity", "JSON"},
      {"point_first", ".1", "JSON"},
  };
  for (const Literal& literal : literals) {
    Refuse(cases, StrCat("dimension_", literal.name),
           One("U8", StrCat("[", literal.text, "]"), "[0,1]"), 1, std::string(literal.message));
    Refuse(cases, StrCat("offset_", literal.name),
           One("U8", "[1]", StrCat("[0,", literal.text, "]")), 1, std::string(literal.message));
  }
  // A reader that goes through double sees 2^53 here, and 0 bytes.
  Refuse(cases, "offsets_beyond_double", One("U8", "[1]", "[9007199254740992,9007199254740993]"), 1,
         "past the end");
  Refuse(cases, "dimension_minus_one_twice", One("U8", "[-1,-1]", "[0,1]"), 1,
         "needs whole numbers");
}

void AddDtypes(Cases& cases) {
  const std::string unknown = "unknown dtype";
  Refuse(cases, "dtype_unknown", One("F128", "[0]", "[0,0]"), 0, unknown);
  Refuse(cases, "dtype_lower_case", One("f32", "[0]", "[0,0]"), 0, unknown);
  Refuse(cases, "dtype_mixed_case", One("Bool", "[0]", "[0,0]"), 0, unknown);
  Refuse(cases, "dtype_empty", One("", "[0]", "[0,0]"), 0, unknown);
  Refuse(cases, "dtype_with_space", One("F32 ", "[0]", "[0,0]"), 0, unknown);
  Refuse(cases, "dtype_with_zero", One("F32\\u0000", "[0]", "[0,0]"), 0, unknown);
  Refuse(cases, "dtype_prefix", One("F8_E4M", "[0]", "[0,0]"), 0, unknown);
  Refuse(cases, "dtype_of_torch", One("bfloat16", "[0]", "[0,0]"), 0, unknown);
  Refuse(cases, "dtype_is_number", R"({"a":{"dtype":32,"shape":[0],"data_offsets":[0,0]}})", 0,
         "dtype cannot hold a number");
  Refuse(cases, "dtype_is_null", R"({"a":{"dtype":null,"shape":[0],"data_offsets":[0,0]}})", 0,
         "dtype cannot hold null");
  Refuse(cases, "dtype_is_array", R"({"a":{"dtype":["U8"],"shape":[0],"data_offsets":[0,0]}})", 0,
         "dtype cannot hold an array");
  Refuse(cases, "f4_one", One("F4", "[1]", "[0,1]"), 1, "no whole number of bytes");
  Refuse(cases, "f4_odd", One("F4", "[3,3]", "[0,4]"), 4, "no whole number of bytes");
  Refuse(cases, "f6_two", One("F6_E2M3", "[2]", "[0,2]"), 2, "no whole number of bytes");
  Refuse(cases, "f6_rank_0", One("F6_E3M2", "[]", "[0,1]"), 1, "no whole number of bytes");
}

void AddAccepted(Cases& cases) {
  Accept(cases, "no_tensors", "{}", 0);
  Accept(cases, "padding", "{}      ", 0);
  Accept(cases, "rank_0", One("F32", "[]", "[0,4]"), 4);
  Accept(cases, "rank_100", One("U8", StrCat("[1", Repeated(",1", 99), "]"), "[0,1]"), 1);
  Accept(cases, "empty_tensor", One("F32", "[0]", "[0,0]"), 0);
  Accept(cases, "empty_tensor_of_wide_shape", One("F32", "[0,4611686018427387904,4]", "[0,0]"), 0);
  Accept(cases, "empty_tensor_wide_first", One("F32", "[4611686018427387904,0]", "[0,0]"), 0);
  Accept(cases, "largest_dimension", One("U8", "[0,9223372036854775807]", "[0,0]"), 0);
  Accept(
      cases, "empty_tensors_share_offsets",
      StrCat("{", EntryText("z", "U8", "[0]", "[0,0]"), ",", EntryText("a", "U8", "[2]", "[0,2]"),
             ",", EntryText("m", "F64", "[3,0]", "[2,2]"), ",",
             EntryText("n", "U8", "[0]", "[2,2]"), ",", EntryText("b", "U8", "[1]", "[2,3]"), ",",
             EntryText("end", "U8", "[0]", "[3,3]"), "}"),
      3);
  Accept(cases, "any_order",
         StrCat("{", EntryText("b", "U8", "[2]", "[2,4]"), ",",
                EntryText("a", "U8", "[2]", "[0,2]"), "}"),
         4);
  Accept(cases, "keys_in_any_order", R"({"a":{"data_offsets":[0,4],"shape":[2,2],"dtype":"U8"}})",
         4);
  Accept(
      cases, "space_inside",
      "{ \"a\" :\n{\t\"dtype\" : \"U8\",\r\n\"shape\":[ 1 , 2 ],\"data_offsets\":[0, 2 ]\n}\n}  ",
      2);
  Accept(cases, "metadata", R"({"__metadata__":{"format":"pt","":"empty key"}})", 0);
  Accept(cases, "metadata_empty", R"({"__metadata__":{}})", 0);
  Accept(cases, "metadata_last",
         StrCat("{", EntryText("a", "U8", "[1]", "[0,1]"), ",\"__metadata__\":{\"k\":\"v\"}}"), 1);
  Accept(cases, "metadata_named_key", R"({"__metadata__":{"__metadata__":"x","dtype":"y"}})", 0);
  Accept(cases, "names_of_fields",
         StrCat("{", EntryText("dtype", "U8", "[1]", "[0,1]"), ",",
                EntryText("shape", "U8", "[1]", "[1,2]"), "}"),
         2);
  Accept(cases, "empty_name", StrCat("{", EntryText("", "U8", "[1]", "[0,1]"), "}"), 1);
  Accept(cases, "escaped_name",
         StrCat("{", EntryText("\\u0061\\n\\\"\\/\\ud83d\\ude00", "U8", "[1]", "[0,1]"), "}"), 1);
  Accept(cases, "unicode_name",
         StrCat("{", EntryText("\xE2\x82\xAC\xF0\x9F\x98\x80", "U8", "[1]", "[0,1]"), "}"), 1);
  Accept(cases, "zero_in_name",
         StrCat("{", EntryText("a\\u0000b", "U8", "[1]", "[0,1]"), ",",
                EntryText("a", "U8", "[1]", "[1,2]"), "}"),
         2);
  Accept(cases, "f4_pair", One("F4", "[2]", "[0,1]"), 1);
  Accept(cases, "f6_four", One("F6_E2M3", "[2,2]", "[0,3]"), 3);
  std::string all = "{";
  uint64_t end = 0;
  for (const Dtype dtype : AllDtypes()) {
    const uint64_t bytes = 4 * BitsOf(dtype) / 8;
    all += StrCat(end == 0 ? "" : ",", EntryText(ToString(dtype), ToString(dtype), "[4]",
                                                 StrCat("[", end, ",", end + bytes, "]")));
    end += bytes;
  }
  Accept(cases, "every_dtype", all + "}", end);
}

}  // namespace

std::string LengthPrefix(uint64_t length) {
  std::string prefix;
  for (int i = 0; i < 8; ++i) prefix.push_back(static_cast<char>(length >> (8 * i) & 0xFF));
  return prefix;
}

std::string SafetensorsFile(std::string_view header, uint64_t data_bytes) {
  std::string file = StrCat(LengthPrefix(header.size()), header);
  for (uint64_t i = 0; i < data_bytes; ++i) file.push_back(static_cast<char>(i & 0xFF));
  return file;
}

std::string EntryText(std::string_view name, std::string_view dtype, std::string_view shape,
                      std::string_view offsets) {
  return StrCat("\"", name, "\":{\"dtype\":\"", dtype, "\",\"shape\":", shape,
                ",\"data_offsets\":", offsets, "}");
}

std::vector<SafetensorsCase> AllSafetensorsCases() {
  Cases cases;
  AddLengths(cases);
  AddTexts(cases);
  AddBombs(cases);
  AddKeys(cases);
  AddDimensions(cases);
  AddOffsets(cases);
  AddNumbers(cases);
  AddDtypes(cases);
  AddAccepted(cases);
  return cases;
}

}  // namespace horizon
