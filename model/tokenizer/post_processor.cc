#include "model/tokenizer/post_processor.h"

#include <limits>
#include <string>
#include <utility>

#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "model/tokenizer/part_reader.h"

namespace horizon {
namespace {

constexpr std::string_view kKnown = "TemplateProcessing, ByteLevel and Sequence";

// The ids that a template's special token stands for.
absl::StatusOr<std::vector<int32_t>> IdsOf(const Part& part, const std::string& name) {
  const Value* tokens = part.value.Find("special_tokens");
  const Value* token = tokens == nullptr ? nullptr : tokens->Find(name);
  const Value* ids = token == nullptr ? nullptr : token->Find("ids");
  const Value::Array* array = ids == nullptr ? nullptr : ids->As<Value::Array>();
  if (array == nullptr) {
    return part.Error(StrCat("special_tokens has no ids for ", Quoted(name)));
  }
  std::vector<int32_t> result;
  for (const Value& id : *array) {
    const int64_t* number = id.As<int64_t>();
    if (number == nullptr || *number < 0 || *number >= std::numeric_limits<int32_t>::max()) {
      return part.Error(StrCat("the ids of ", Quoted(name), " are not ids"));
    }
    result.push_back(static_cast<int32_t>(*number));
  }
  return result;
}

// The "id" of {"SpecialToken": {"id": ...}} or {"Sequence": {"id": ...}}.
const std::string* NameIn(const Value& piece, std::string_view kind) {
  const Value* body = piece.Find(kind);
  const Value* id = body == nullptr ? nullptr : body->Find("id");
  return id == nullptr ? nullptr : id->As<std::string>();
}

absl::StatusOr<PostProcessor> ReadTemplate(const Part& part) {
  const Value* single = part.value.Find("single");
  const Value::Array* pieces = single == nullptr ? nullptr : single->As<Value::Array>();
  if (pieces == nullptr) return part.Error("needs the array \"single\"");
  PostProcessor result;
  int texts = 0;
  for (const Value& piece : *pieces) {
    if (const std::string* name = NameIn(piece, "SpecialToken")) {
      ASSIGN_OR_RETURN(const std::vector<int32_t> ids, IdsOf(part, *name));
      std::vector<int32_t>& side = texts == 0 ? result.prefix : result.suffix;
      side.insert(side.end(), ids.begin(), ids.end());
    } else if (const std::string* text = NameIn(piece, "Sequence"); text && *text == "A") {
      ++texts;
    } else {
      return part.Error("a piece of \"single\" is neither a SpecialToken nor the Sequence A");
    }
  }
  if (texts != 1) return part.Error("\"single\" must hold the Sequence A exactly once");
  return result;
}

}  // namespace

absl::StatusOr<PostProcessor> PostProcessor::Read(const Document& document) {
  PostProcessor result;
  ASSIGN_OR_RETURN(const std::vector<Part> parts,
                   ListParts(document, "post_processor", "processors"));
  for (const Part& part : parts) {
    // ByteLevel moves offsets only.
    if (part.type == "ByteLevel") continue;
    if (part.type != "TemplateProcessing") return RefuseType(part, kKnown);
    ASSIGN_OR_RETURN(PostProcessor outer, ReadTemplate(part));
    result.prefix.insert(result.prefix.begin(), outer.prefix.begin(), outer.prefix.end());
    result.suffix.insert(result.suffix.end(), outer.suffix.begin(), outer.suffix.end());
  }
  return result;
}

}  // namespace horizon
