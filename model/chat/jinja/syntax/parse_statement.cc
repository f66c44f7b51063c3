#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "model/chat/jinja/syntax/jinja_parser.h"

namespace horizon {

JinjaStatements JinjaParser::ParseTemplate() {
  JinjaStatements statements = ParseUntil({});
  if (!failed() && !unknown_.empty()) FailAt(unknown_[0].first, unknown_[0].second);
  return statements;
}

// Statements up to a tag that is one of `ends`, whose name is current then, or to the end.
JinjaStatements JinjaParser::ParseUntil(const Words& ends) {
  JinjaStatements statements;
  bool in_output = false;
  const auto output = [&]() -> JinjaStatement& {
    if (!in_output) {
      statements.emplace_back();
      statements.back().line = current().line;
    }
    in_output = true;
    return statements.back();
  };
  while (current().kind != Kind::kEnd) {
    const int line = current().line;
    if (current().kind == Kind::kData) {
      JinjaStatement& statement = output();
      JinjaExpressionPtr data = Make(JinjaExpression::Kind::kConstant, line);
      data->constant = JinjaValue::Template(Take().text);
      statement.expressions.push_back(std::move(data));
    } else if (current().kind == Kind::kVariableBegin) {
      JinjaStatement& statement = output();
      Take();
      statement.expressions.push_back(ParseTuple(TupleItems::kExpressions, "", false));
      Expect(Kind::kVariableEnd);
    } else {
      Expect(Kind::kBlockBegin);
      in_output = false;
      if (current().kind == Kind::kName &&
          std::find(ends.begin(), ends.end(), current().text) != ends.end()) {
        return statements;
      }
      if (Enter()) ParseStatement(statements);
      Leave();
      Expect(Kind::kBlockEnd);
    }
  }
  if (!ends.empty()) Fail(StrCat("the template ends where \"{% ", ends.back(), " %}\" is missing"));
  return statements;
}

JinjaStatements JinjaParser::ParseBody(const Words& ends) {
  SkipOperator(":");
  Expect(Kind::kBlockEnd);
  return ParseUntil(ends);
}

// A body with variables of its own. Loops around a function's body do not count for `break` in it.
JinjaStatements JinjaParser::ParseScopedBody(std::string_view end, bool is_function) {
  const bool conditional = std::exchange(conditional_, false);
  const int loops = loops_;
  if (is_function) loops_ = 0;
  JinjaStatements body = ParseBody({end});
  Take();
  conditional_ = conditional;
  loops_ = loops;
  return body;
}

void JinjaParser::ParseStatement(JinjaStatements& statements) {
  JinjaStatement statement;
  statement.line = current().line;
  const std::string tag = TakeName("the name of a tag");
  ParseTag(tag, statement);
  statements.push_back(std::move(statement));
}

void JinjaParser::ParseTag(const std::string& tag, JinjaStatement& statement) {
  using Statement = JinjaStatement::Kind;
  if (tag == "for") return ParseFor(statement);
  if (tag == "if") return ParseIf(statement);
  if (tag == "set") return ParseSet(statement);
  if (tag == "macro") return ParseMacro(statement);
  if (tag == "call") return ParseCallBlock(statement);
  if (tag == "with") return ParseWith(statement);
  if (tag == "filter") {
    statement.kind = Statement::kFilterBlock;
    statement.expressions.push_back(ParseFilters(nullptr, true));
    statement.body = ParseScopedBody("endfilter", false);
  } else if (tag == "generation") {
    has_generation_ = true;
    statement.kind = Statement::kGeneration;
    statement.body = ParseScopedBody("endgeneration", true);
  } else if (tag == "print") {
    while (current().kind != Kind::kBlockEnd && !failed()) {
      if (!statement.expressions.empty()) ExpectOperator(",");
      statement.expressions.push_back(ParseExpression());
    }
  } else if (tag == "break" || tag == "continue") {
    statement.kind = tag == "break" ? Statement::kBreak : Statement::kContinue;
    if (loops_ == 0) FailAt(statement.line, StrCat("\"", tag, "\" stands outside of a loop"));
  } else {
    FailAt(statement.line, StrCat("the tag ", Quoted(tag), " is unknown or not supported"));
  }
}

void JinjaParser::ParseFor(JinjaStatement& statement) {
  statement.kind = JinjaStatement::Kind::kFor;
  ++loops_;
  statement.targets.push_back(ParseTarget(false, "in"));
  --loops_;
  ExpectName("in");
  statement.expressions.push_back(ParseTuple(TupleItems::kWithoutCondition, "recursive", false));
  statement.expressions.push_back(SkipName("if") ? ParseExpression() : nullptr);
  statement.recursive = SkipName("recursive");
  const bool conditional = std::exchange(conditional_, false);
  ++loops_;
  statement.body = ParseBody({"else", "endfor"});
  --loops_;
  if (Take().text == "else") {
    statement.else_body = ParseBody({"endfor"});
    Take();
  }
  conditional_ = conditional;
}

void JinjaParser::ParseIf(JinjaStatement& statement) {
  const bool conditional = std::exchange(conditional_, true);
  JinjaStatement* branch = &statement;
  for (int length = 0; CheckChainLength(++length);) {
    branch->kind = JinjaStatement::Kind::kIf;
    branch->expressions.push_back(ParseTuple(TupleItems::kWithoutCondition, "", false));
    branch->body = ParseBody({"elif", "else", "endif"});
    const JinjaToken end = Take();
    if (end.text == "elif") {
      branch->else_body.emplace_back();
      branch = &branch->else_body.back();
      branch->line = end.line;
      continue;
    }
    if (end.text == "else") {
      branch->else_body = ParseBody({"endif"});
      Take();
    }
    break;
  }
  conditional_ = conditional;
}

void JinjaParser::ParseSet(JinjaStatement& statement) {
  statement.targets.push_back(ParseTarget(true, ""));
  if (SkipOperator("=")) {
    statement.kind = JinjaStatement::Kind::kSet;
    statement.expressions.push_back(ParseTuple(TupleItems::kExpressions, "", false));
    return;
  }
  statement.kind = JinjaStatement::Kind::kSetBlock;
  statement.expressions.push_back(current().IsOperator("|") ? ParseFilters(nullptr, false)
                                                            : nullptr);
  statement.body = ParseScopedBody("endset", false);
}

void JinjaParser::ParseMacro(JinjaStatement& statement) {
  statement.kind = JinjaStatement::Kind::kMacro;
  statement.name = TakeName("the name of the macro");
  ParseSignature(statement.signature);
  ParseFunctionBody(statement, "endmacro");
}

void JinjaParser::ParseCallBlock(JinjaStatement& statement) {
  statement.kind = JinjaStatement::Kind::kCallBlock;
  if (current().IsOperator("(")) ParseSignature(statement.signature);
  JinjaExpressionPtr call = ParseExpression();
  if (!failed() && call->kind != JinjaExpression::Kind::kCall) {
    FailAt(statement.line, "\"call\" is followed by no call");
  }
  statement.expressions.push_back(std::move(call));
  ParseFunctionBody(statement, "endcall");
}

void JinjaParser::ParseFunctionBody(JinjaStatement& statement, std::string_view end) {
  const std::map<std::string, int, std::less<>> before = specials_;
  statement.body = ParseScopedBody(end, true);
  const auto is_read = [&](std::string_view name) {
    const auto count = [name](const auto& counts) {
      const auto found = counts.find(name);
      return found == counts.end() ? 0 : found->second;
    };
    return count(specials_) > count(before);
  };
  statement.signature.takes_caller = is_read("caller");
  statement.signature.takes_named = is_read("kwargs");
  statement.signature.takes_positional = is_read("varargs");
}

void JinjaParser::ParseSignature(JinjaSignature& signature) {
  ExpectOperator("(");
  while (!failed() && !current().IsOperator(")")) {
    if (!signature.parameters.empty()) ExpectOperator(",");
    std::string name = TakeName("the name of a parameter");
    if (std::find(signature.parameters.begin(), signature.parameters.end(), name) !=
        signature.parameters.end()) {
      Fail(StrCat("two parameters are called ", Quoted(name)));
    }
    signature.parameters.push_back(std::move(name));
    if (SkipOperator("=")) {
      signature.defaults.push_back(ParseExpression());
    } else if (!signature.defaults.empty()) {
      Fail("a parameter without a default follows one with a default");
    }
  }
  ExpectOperator(")");
}

void JinjaParser::ParseWith(JinjaStatement& statement) {
  statement.kind = JinjaStatement::Kind::kWith;
  while (!failed() && current().kind != Kind::kBlockEnd) {
    if (!statement.targets.empty()) ExpectOperator(",");
    statement.targets.push_back(ParseTarget(false, ""));
    ExpectOperator("=");
    statement.expressions.push_back(ParseExpression());
  }
  statement.body = ParseScopedBody("endwith", false);
}

// What can be assigned to: names, tuples of them, and name.attribute where `with_namespace`. The
// name `end` ends a tuple.
JinjaExpressionPtr JinjaParser::ParseTarget(bool with_namespace, std::string_view end) {
  JinjaExpressionPtr target = ParseTuple(TupleItems::kTargets, end, false);
  if (!failed()) CheckTarget(*target);
  if (!failed() && !with_namespace && target->kind == JinjaExpression::Kind::kNamespaceAttribute) {
    Fail("an attribute cannot be assigned to here");
  }
  return target;
}

void JinjaParser::CheckTarget(const JinjaExpression& target) {
  using Expression = JinjaExpression::Kind;
  if (target.kind == Expression::kTuple) {
    for (const JinjaExpressionPtr& child : target.children) CheckTarget(*child);
    return;
  }
  if (target.kind == Expression::kName && target.name == "loop" && loops_ > 0) {
    FailAt(target.line, "the variable \"loop\" of a loop cannot be assigned to");
  }
  if (target.kind != Expression::kName && target.kind != Expression::kNamespaceAttribute) {
    FailAt(target.line, "only names can be assigned to");
  }
}

}  // namespace horizon
