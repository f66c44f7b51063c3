#include "model/chat/jinja/syntax/jinja_parser.h"

#include <algorithm>
#include <utility>

#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "model/chat/jinja/jinja_error.h"

namespace horizon {
namespace {

// Each level of an expression passes about a dozen functions, and all of it fits a small stack.
constexpr int kMostNesting = 200;

std::string Describe(const JinjaToken& token) {
  switch (token.kind) {
    case JinjaToken::Kind::kEnd:
      return "the end of the template";
    case JinjaToken::Kind::kBlockEnd:
      return "\"%}\"";
    case JinjaToken::Kind::kVariableEnd:
      return "\"}}\"";
    case JinjaToken::Kind::kBlockBegin:
      return "\"{%\"";
    case JinjaToken::Kind::kVariableBegin:
      return "\"{{\"";
    case JinjaToken::Kind::kData:
      return "text";
    case JinjaToken::Kind::kString:
      return StrCat("the string ", Quoted(token.text));
    default:
      return Quoted(token.text);
  }
}

}  // namespace

absl::StatusOr<JinjaSyntax> ParseJinja(std::string_view source, std::string_view name) {
  ASSIGN_OR_RETURN(std::vector<JinjaToken> tokens, LexJinja(source, name));
  JinjaParser parser(std::move(tokens), name);
  JinjaSyntax syntax;
  syntax.statements = parser.ParseTemplate();
  RETURN_IF_ERROR(parser.status());
  syntax.has_generation = parser.has_generation();
  return syntax;
}

const JinjaToken& JinjaParser::Following() const {
  return tokens_[std::min(at_ + 1, tokens_.size() - 1)];
}

JinjaToken JinjaParser::Take() {
  JinjaToken token = current();
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool JinjaParser::SkipName(std::string_view name) {
  if (!current().IsName(name)) return false;
  Take();
  return true;
}

bool JinjaParser::SkipOperator(std::string_view sign) {
  if (!current().IsOperator(sign)) return false;
  Take();
  return true;
}

bool JinjaParser::Expect(Kind kind) {
  if (current().kind == kind) {
    Take();
    return true;
  }
  JinjaToken wanted;
  wanted.kind = kind;
  Fail(StrCat("found ", Describe(current()), " where ", Describe(wanted), " was expected"));
  return false;
}

bool JinjaParser::ExpectOperator(std::string_view sign) {
  if (SkipOperator(sign)) return true;
  Fail(StrCat("found ", Describe(current()), " where \"", sign, "\" was expected"));
  return false;
}

bool JinjaParser::ExpectName(std::string_view name) {
  if (SkipName(name)) return true;
  Fail(StrCat("found ", Describe(current()), " where \"", name, "\" was expected"));
  return false;
}

std::string JinjaParser::TakeName(std::string_view what) {
  if (current().kind == Kind::kName) return Take().text;
  Fail(StrCat("found ", Describe(current()), " where ", what, " was expected"));
  return "";
}

void JinjaParser::FailAt(int line, std::string_view reason) {
  if (failed()) return;
  status_ = JinjaError(name_, line, reason);
  at_ = tokens_.size() - 1;
}

bool JinjaParser::Enter() {
  ++depth_;
  if (depth_ <= kMostNesting) return true;
  Fail(StrCat("the template is nested deeper than ", kMostNesting, " levels"));
  return false;
}

bool JinjaParser::CheckChainLength(int length) {
  if (length > kMostNesting)
    Fail(StrCat("more than ", kMostNesting, " operations follow each other"));
  return !failed();
}

}  // namespace horizon
