#include <utility>

#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "model/chat/jinja/filters/jinja_filters.h"
#include "model/chat/jinja/filters/jinja_tests.h"
#include "model/chat/jinja/syntax/jinja_parser.h"

namespace horizon {

using Expression = JinjaExpression::Kind;

JinjaExpressionPtr JinjaParser::ParsePostfix(JinjaExpressionPtr node) {
  for (int length = 0; CheckChainLength(++length);) {
    if (current().IsOperator(".") || current().IsOperator("[")) {
      node = ParseSubscript(std::move(node));
    } else if (current().IsOperator("(")) {
      JinjaExpressionPtr call = Make(Expression::kCall, current().line);
      call->children.push_back(std::move(node));
      ParseArguments(call->arguments);
      node = std::move(call);
    } else {
      break;
    }
  }
  return node;
}

JinjaExpressionPtr JinjaParser::ParseSubscript(JinjaExpressionPtr node) {
  const JinjaToken sign = Take();
  if (sign.text == ".") {
    if (current().kind == Kind::kInteger) {
      JinjaExpressionPtr item = Make(Expression::kItem, sign.line);
      item->children.push_back(std::move(node));
      item->children.push_back(ParseNumber());
      return item;
    }
    JinjaExpressionPtr attribute = Make(Expression::kAttribute, sign.line);
    attribute->name = TakeName("a name or number");
    attribute->children.push_back(std::move(node));
    return attribute;
  }
  JinjaExpressionPtr item = Make(Expression::kItem, sign.line);
  JinjaExpressionPtr index = Make(Expression::kTuple, sign.line);
  while (!failed() && !current().IsOperator("]")) {
    if (!index->children.empty()) ExpectOperator(",");
    index->children.push_back(ParseSubscribed());
  }
  ExpectOperator("]");
  if (index->children.size() == 1) index = std::move(index->children.front());
  if (index->kind == Expression::kTuple) {
    for (const JinjaExpressionPtr& part : index->children) {
      if (part->kind == Expression::kSlice) FailAt(sign.line, "a slice stands inside of a tuple");
    }
  }
  item->children.push_back(std::move(node));
  item->children.push_back(std::move(index));
  return item;
}

JinjaExpressionPtr JinjaParser::ParseSubscribed() {
  const int line = current().line;
  JinjaExpressionPtr begin;
  if (!current().IsOperator(":")) {
    begin = ParseExpression();
    if (!current().IsOperator(":")) return begin;
  }
  Take();
  JinjaExpressionPtr slice = Make(Expression::kSlice, line);
  slice->children.push_back(std::move(begin));
  const auto at_end = [&] {
    return current().IsOperator(":") || current().IsOperator("]") || current().IsOperator(",");
  };
  slice->children.push_back(at_end() ? nullptr : ParseExpression());
  const bool has_step = SkipOperator(":");
  slice->children.push_back(!has_step || at_end() ? nullptr : ParseExpression());
  return slice;
}

std::string JinjaParser::ParseDottedName(std::string_view what) {
  std::string name = TakeName(what);
  while (SkipOperator(".")) name = StrCat(name, ".", TakeName(what));
  return name;
}

JinjaExpressionPtr JinjaParser::ParseFilters(JinjaExpressionPtr node, bool first_named) {
  for (int length = 0; CheckChainLength(++length) && (first_named || SkipOperator("|"));) {
    first_named = false;
    JinjaExpressionPtr filter = Make(Expression::kFilter, current().line);
    filter->name = ParseDottedName("the name of a filter");
    if (!failed() && !conditional_ && !IsJinjaFilter(filter->name)) {
      unknown_.emplace_back(filter->line, StrCat("the filter ", Quoted(filter->name),
                                                 " is unknown or not supported"));
    }
    if (current().IsOperator("(")) ParseArguments(filter->arguments);
    filter->children.push_back(std::move(node));
    node = std::move(filter);
  }
  return node;
}

JinjaExpressionPtr JinjaParser::ParseTest(JinjaExpressionPtr node) {
  JinjaExpressionPtr test = Make(Expression::kTest, Take().line);
  const bool negated = SkipName("not");
  test->name = ParseDottedName("the name of a test");
  if (!failed() && !conditional_ && !IsJinjaTest(test->name)) {
    unknown_.emplace_back(test->line,
                          StrCat("the test ", Quoted(test->name), " is unknown or not supported"));
  }
  const JinjaToken& next = current();
  if (next.IsOperator("(")) {
    ParseArguments(test->arguments);
  } else if ((next.kind == Kind::kName || next.kind == Kind::kString ||
              next.kind == Kind::kInteger || next.kind == Kind::kFloat || next.IsOperator("[") ||
              next.IsOperator("{")) &&
             !next.IsName("else") && !next.IsName("or") && !next.IsName("and")) {
    if (next.IsName("is")) Fail("several tests cannot follow each other with \"is\"");
    if (Enter()) test->arguments.positional.push_back(ParsePostfix(ParsePrimary(false)));
    Leave();
  }
  test->children.push_back(std::move(node));
  if (!negated) return test;
  JinjaExpressionPtr negation = Make(Expression::kNot, test->line);
  negation->children.push_back(std::move(test));
  return negation;
}

void JinjaParser::ParseArguments(JinjaCallArguments& arguments) {
  const int line = current().line;
  ExpectOperator("(");
  bool valid = true;
  for (bool first = true; !failed() && !current().IsOperator(")"); first = false) {
    if (!first) {
      ExpectOperator(",");
      if (current().IsOperator(")")) break;
    }
    if (SkipOperator("*")) {
      valid = valid && arguments.more_positional == nullptr && arguments.more_named == nullptr;
      arguments.more_positional = ParseExpression();
    } else if (SkipOperator("**")) {
      valid = valid && arguments.more_named == nullptr;
      arguments.more_named = ParseExpression();
    } else if (current().kind == Kind::kName && Following().IsOperator("=")) {
      valid = valid && arguments.more_named == nullptr;
      std::string name = Take().text;
      Take();
      arguments.named.emplace_back(std::move(name), ParseExpression());
    } else {
      valid = valid && arguments.more_positional == nullptr && arguments.more_named == nullptr &&
              arguments.named.empty();
      arguments.positional.push_back(ParseExpression());
    }
  }
  ExpectOperator(")");
  if (!valid) FailAt(line, "the arguments of a call stand in the wrong order");
}

}  // namespace horizon
