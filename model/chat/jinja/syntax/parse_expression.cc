#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "model/chat/jinja/syntax/jinja_parser.h"

namespace horizon {

using Expression = JinjaExpression::Kind;

JinjaExpressionPtr JinjaParser::Make(Expression kind, int line) const {
  auto node = std::make_unique<JinjaExpression>();
  node->kind = kind;
  node->line = line;
  return node;
}

JinjaExpressionPtr JinjaParser::ParseTuple(TupleItems items, std::string_view end,
                                           bool parenthesised) {
  JinjaExpressionPtr tuple = Make(Expression::kTuple, current().line);
  bool is_tuple = false;
  const auto at_end = [&] {
    return current().kind == Kind::kVariableEnd || current().kind == Kind::kBlockEnd ||
           current().IsOperator(")") || (!end.empty() && current().IsName(end));
  };
  while (!failed()) {
    if (!tuple->children.empty()) ExpectOperator(",");
    if (at_end()) break;
    tuple->children.push_back(items == TupleItems::kTargets            ? ParsePrimary(true)
                              : items == TupleItems::kWithoutCondition ? ParseOr()
                                                                       : ParseExpression());
    if (!current().IsOperator(",")) break;
    is_tuple = true;
  }
  if (is_tuple) return tuple;
  if (!tuple->children.empty()) return std::move(tuple->children.front());
  if (!parenthesised) Fail("an expression is missing");
  return tuple;
}

JinjaExpressionPtr JinjaParser::ParseExpression() {
  const bool conditional = conditional_;
  const int line = current().line;
  if (!Enter()) {
    Leave();
    return Make(Expression::kConstant, line);
  }
  const size_t unknown = unknown_.size();
  JinjaExpressionPtr node = ParseOr();
  for (int length = 0; SkipName("if") && CheckChainLength(++length);) {
    JinjaExpressionPtr choice = Make(Expression::kCondition, line);
    conditional_ = true;
    choice->children.push_back(ParseOr());
    choice->children.push_back(std::move(node));
    choice->children.push_back(SkipName("else") ? ParseExpression() : nullptr);
    conditional_ = conditional;
    unknown_.resize(std::min(unknown, unknown_.size()));
    node = std::move(choice);
  }
  Leave();
  return node;
}

JinjaExpressionPtr JinjaParser::ParseOr() {
  JinjaExpressionPtr node = ParseAnd();
  for (int length = 0; current().IsName("or") && CheckChainLength(++length);) {
    JinjaExpressionPtr both = Make(Expression::kOr, Take().line);
    both->children.push_back(std::move(node));
    both->children.push_back(ParseAnd());
    node = std::move(both);
  }
  return node;
}

JinjaExpressionPtr JinjaParser::ParseAnd() {
  JinjaExpressionPtr node = ParseNot();
  for (int length = 0; current().IsName("and") && CheckChainLength(++length);) {
    JinjaExpressionPtr both = Make(Expression::kAnd, Take().line);
    both->children.push_back(std::move(node));
    both->children.push_back(ParseNot());
    node = std::move(both);
  }
  return node;
}

JinjaExpressionPtr JinjaParser::ParseNot() {
  if (!current().IsName("not")) return ParseCompare();
  JinjaExpressionPtr node = Make(Expression::kNot, Take().line);
  const bool entered = Enter();
  node->children.push_back(entered ? ParseNot() : Make(Expression::kConstant, node->line));
  Leave();
  return node;
}

JinjaExpressionPtr JinjaParser::ParseCompare() {
  static const std::pair<std::string_view, JinjaOperator> kSigns[] = {
      {"==", JinjaOperator::kEqual},  {"!=", JinjaOperator::kNotEqual},
      {"<", JinjaOperator::kLess},    {"<=", JinjaOperator::kLessEqual},
      {">", JinjaOperator::kGreater}, {">=", JinjaOperator::kGreaterEqual}};
  JinjaExpressionPtr node = Make(Expression::kCompare, current().line);
  node->children.push_back(ParseSum());
  while (!failed()) {
    const size_t count = node->operators.size();
    for (const auto& [sign, operation] : kSigns) {
      if (SkipOperator(sign)) {
        node->operators.push_back(operation);
        break;
      }
    }
    if (node->operators.size() == count) {
      if (SkipName("in")) {
        node->operators.push_back(JinjaOperator::kIn);
      } else if (current().IsName("not") && Following().IsName("in")) {
        Take();
        Take();
        node->operators.push_back(JinjaOperator::kNotIn);
      } else {
        break;
      }
    }
    node->children.push_back(ParseSum());
  }
  if (node->operators.empty()) return std::move(node->children.front());
  return node;
}

JinjaExpressionPtr JinjaParser::ParseSum() {
  JinjaExpressionPtr node = ParseConcat();
  for (int length = 0;
       (current().IsOperator("+") || current().IsOperator("-")) && CheckChainLength(++length);) {
    const JinjaToken sign = Take();
    JinjaExpressionPtr sum = Make(Expression::kBinary, sign.line);
    sum->operators = {sign.text == "+" ? JinjaOperator::kAdd : JinjaOperator::kSubtract};
    sum->children.push_back(std::move(node));
    sum->children.push_back(ParseConcat());
    node = std::move(sum);
  }
  return node;
}

JinjaExpressionPtr JinjaParser::ParseConcat() {
  JinjaExpressionPtr node = Make(Expression::kConcat, current().line);
  node->children.push_back(ParseProduct());
  while (SkipOperator("~")) node->children.push_back(ParseProduct());
  if (node->children.size() == 1) return std::move(node->children.front());
  return node;
}

JinjaExpressionPtr JinjaParser::ParseProduct() {
  static const std::pair<std::string_view, JinjaOperator> kSigns[] = {
      {"*", JinjaOperator::kMultiply},
      {"/", JinjaOperator::kDivide},
      {"//", JinjaOperator::kFloorDivide},
      {"%", JinjaOperator::kModulo}};
  JinjaExpressionPtr node = ParsePower();
  for (int length = 0; CheckChainLength(++length);) {
    const JinjaToken& token = current();
    const std::pair<std::string_view, JinjaOperator>* found = nullptr;
    for (const auto& sign : kSigns) {
      if (token.IsOperator(sign.first)) found = &sign;
    }
    if (found == nullptr) break;
    JinjaExpressionPtr product = Make(Expression::kBinary, Take().line);
    product->operators = {found->second};
    product->children.push_back(std::move(node));
    product->children.push_back(ParsePower());
    node = std::move(product);
  }
  return node;
}

JinjaExpressionPtr JinjaParser::ParsePower() {
  JinjaExpressionPtr node = ParseUnary(true);
  for (int length = 0; current().IsOperator("**") && CheckChainLength(++length);) {
    JinjaExpressionPtr power = Make(Expression::kBinary, Take().line);
    power->operators = {JinjaOperator::kPower};
    power->children.push_back(std::move(node));
    power->children.push_back(ParseUnary(true));
    node = std::move(power);
  }
  return node;
}

JinjaExpressionPtr JinjaParser::ParseUnary(bool with_filters) {
  JinjaExpressionPtr node;
  if (current().IsOperator("-") || current().IsOperator("+")) {
    const JinjaToken sign = Take();
    node = Make(Expression::kUnary, sign.line);
    node->operators = {sign.text == "-" ? JinjaOperator::kNegate : JinjaOperator::kPlus};
    const bool entered = Enter();
    node->children.push_back(entered ? ParseUnary(false) : Make(Expression::kConstant, sign.line));
    Leave();
  } else {
    node = ParsePrimary(false);
  }
  node = ParsePostfix(std::move(node));
  if (!with_filters) return node;
  for (int length = 0; CheckChainLength(++length);) {
    if (current().IsOperator("|")) {
      node = ParseFilters(std::move(node), false);
    } else if (current().IsName("is")) {
      node = ParseTest(std::move(node));
    } else if (current().IsOperator("(")) {
      node = ParsePostfix(std::move(node));
    } else {
      break;
    }
  }
  return node;
}

JinjaExpressionPtr JinjaParser::ParsePrimary(bool with_namespace) {
  const JinjaToken& token = current();
  JinjaExpressionPtr node = Make(Expression::kConstant, token.line);
  if (token.kind == Kind::kName) {
    const JinjaToken taken = Take();
    const std::string_view name = taken.text;
    if (name == "true" || name == "True" || name == "false" || name == "False") {
      node->constant = JinjaValue::Bool(name == "true" || name == "True");
    } else if (name == "none" || name == "None") {
      node->constant = JinjaValue::None();
    } else {
      node->kind = Expression::kName;
      node->name = taken.text;
      if (with_namespace && SkipOperator(".")) {
        node->kind = Expression::kNamespaceAttribute;
        node->attribute = TakeName("the name of an attribute");
      } else if (!with_namespace) {
        ++specials_[taken.text];
      }
    }
  } else if (token.kind == Kind::kString) {
    std::string text;
    while (current().kind == Kind::kString) text += Take().text;
    node->constant = JinjaValue::Template(text);
  } else if (token.kind == Kind::kInteger || token.kind == Kind::kFloat) {
    return ParseNumber();
  } else if (SkipOperator("(")) {
    if (Enter())
      node = ParseTuple(with_namespace ? TupleItems::kTargets : TupleItems::kExpressions, "", true);
    Leave();
    ExpectOperator(")");
  } else if (token.IsOperator("[")) {
    return ParseList();
  } else if (token.IsOperator("{")) {
    return ParseDict();
  } else if (token.kind == Kind::kEnd) {
    Fail("the template ends inside of an expression");
  } else {
    Fail(StrCat("found ", token.text.empty() ? "the end of the tag" : Quoted(token.text),
                " where an expression was expected"));
  }
  return node;
}

JinjaExpressionPtr JinjaParser::ParseNumber() {
  const JinjaToken token = Take();
  JinjaExpressionPtr node = Make(Expression::kConstant, token.line);
  if (token.kind == Kind::kFloat) {
    double value = 0;
    const auto read =
        std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
    if (read.ec == std::errc::result_out_of_range) {
      value =
          token.text.find("e-") != std::string::npos || token.text.find("E-") != std::string::npos
              ? 0.0
              : std::numeric_limits<double>::infinity();
    }
    node->constant = JinjaValue::Float(value);
    return node;
  }
  const bool has_base = token.text.size() > 2 && token.text[0] == '0' && token.text[1] > '9';
  const char letter = has_base ? static_cast<char>(token.text[1] | 0x20) : 'd';
  const int base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 10;
  const char* begin = token.text.data() + (has_base ? 2 : 0);
  int64_t value = 0;
  const auto read = std::from_chars(begin, token.text.data() + token.text.size(), value, base);
  if (read.ec != std::errc()) {
    FailAt(token.line, StrCat("the integer ", Quoted(token.text), " does not fit 64 bits"));
  }
  node->constant = JinjaValue::Integer(value);
  return node;
}

JinjaExpressionPtr JinjaParser::ParseList() {
  JinjaExpressionPtr node = Make(Expression::kList, Take().line);
  while (!failed() && !current().IsOperator("]")) {
    if (!node->children.empty()) ExpectOperator(",");
    if (current().IsOperator("]")) break;
    node->children.push_back(ParseExpression());
  }
  ExpectOperator("]");
  return node;
}

JinjaExpressionPtr JinjaParser::ParseDict() {
  JinjaExpressionPtr node = Make(Expression::kDict, Take().line);
  while (!failed() && !current().IsOperator("}")) {
    if (!node->children.empty()) ExpectOperator(",");
    if (current().IsOperator("}")) break;
    node->children.push_back(ParseExpression());
    ExpectOperator(":");
    node->children.push_back(ParseExpression());
  }
  ExpectOperator("}");
  return node;
}

}  // namespace horizon
