#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/chat/jinja/syntax/jinja_lexer.h"
#include "model/chat/jinja/syntax/jinja_nodes.h"

namespace horizon {

// The parsed form of a template.
struct JinjaSyntax {
  JinjaStatements statements;
  bool has_generation = false;
};

// Parses a template. Returns InvalidArgument "NAME:LINE: ..." if the source is not a template or
// uses a filter or test that does not exist. Inside of {% if %} such a filter or test is an error
// only when it is reached, as in Jinja.
absl::StatusOr<JinjaSyntax> ParseJinja(std::string_view source, std::string_view name);

// A recursive-descent parser over the tokens of a template. The first error is kept; from then on
// the current token is always the end, so that all functions return soon, and what they return does
// not matter.
class JinjaParser {
 public:
  JinjaParser(std::vector<JinjaToken> tokens, std::string_view name)
      : tokens_(std::move(tokens)), name_(name) {}

  JinjaStatements ParseTemplate();
  const absl::Status& status() const { return status_; }
  bool has_generation() const { return has_generation_; }

 private:
  using Kind = JinjaToken::Kind;
  enum class TupleItems : uint8_t { kExpressions, kWithoutCondition, kTargets };

  // Tokens (jinja_parser.cc).
  const JinjaToken& current() const { return tokens_[at_]; }
  // The token after the current one.
  const JinjaToken& Following() const;
  JinjaToken Take();
  bool SkipName(std::string_view name);
  bool SkipOperator(std::string_view sign);
  bool Expect(Kind kind);
  bool ExpectOperator(std::string_view sign);
  bool ExpectName(std::string_view name);
  std::string TakeName(std::string_view what);
  void Fail(std::string_view reason) { FailAt(current().line, reason); }
  void FailAt(int line, std::string_view reason);
  bool failed() const { return !status_.ok(); }
  bool Enter();
  // Fails if a chain such as a + b + c is too long, because its tree is as deep as the chain is
  // long. Returns whether parsing may go on.
  bool CheckChainLength(int length);
  void Leave() { --depth_; }

  // Statements (parse_statement.cc).
  using Words = std::vector<std::string_view>;
  JinjaStatements ParseUntil(const Words& ends);
  JinjaStatements ParseBody(const Words& ends);
  JinjaStatements ParseScopedBody(std::string_view end, bool is_function);
  void ParseStatement(JinjaStatements& statements);
  void ParseTag(const std::string& tag, JinjaStatement& statement);
  void ParseFor(JinjaStatement& statement);
  void ParseIf(JinjaStatement& statement);
  void ParseSet(JinjaStatement& statement);
  void ParseMacro(JinjaStatement& statement);
  void ParseCallBlock(JinjaStatement& statement);
  void ParseWith(JinjaStatement& statement);
  void ParseSignature(JinjaSignature& signature);
  void ParseFunctionBody(JinjaStatement& statement, std::string_view end);
  JinjaExpressionPtr ParseTarget(bool with_namespace, std::string_view end);
  void CheckTarget(const JinjaExpression& target);

  // Expressions (parse_expression.cc), from the weakest operator to the strongest.
  JinjaExpressionPtr ParseTuple(TupleItems items, std::string_view end, bool parenthesised);
  JinjaExpressionPtr ParseExpression();
  JinjaExpressionPtr ParseOr();
  JinjaExpressionPtr ParseAnd();
  JinjaExpressionPtr ParseNot();
  JinjaExpressionPtr ParseCompare();
  JinjaExpressionPtr ParseSum();
  JinjaExpressionPtr ParseConcat();
  JinjaExpressionPtr ParseProduct();
  JinjaExpressionPtr ParsePower();
  JinjaExpressionPtr ParseUnary(bool with_filters);
  JinjaExpressionPtr ParsePrimary(bool with_namespace);
  JinjaExpressionPtr ParseNumber();
  JinjaExpressionPtr ParseList();
  JinjaExpressionPtr ParseDict();
  // What follows a primary expression (parse_postfix.cc): attributes, items, calls, filters, tests.
  JinjaExpressionPtr ParsePostfix(JinjaExpressionPtr node);
  JinjaExpressionPtr ParseSubscript(JinjaExpressionPtr node);
  JinjaExpressionPtr ParseSubscribed();
  JinjaExpressionPtr ParseFilters(JinjaExpressionPtr node, bool first_named);
  JinjaExpressionPtr ParseTest(JinjaExpressionPtr node);
  void ParseArguments(JinjaCallArguments& arguments);
  std::string ParseDottedName(std::string_view what);
  JinjaExpressionPtr Make(JinjaExpression::Kind kind, int line) const;

  std::vector<JinjaToken> tokens_;
  std::string_view name_;
  absl::Status status_;
  size_t at_ = 0;
  int depth_ = 0;
  int loops_ = 0;             // how many loops of the same macro enclose this place
  bool conditional_ = false;  // inside {% if %} or an inline if of the same scope
  bool has_generation_ = false;
  // Unknown filters and tests with their lines. They are an error unless an enclosing inline if
  // excuses them.
  std::vector<std::pair<int, std::string>> unknown_;
  // How often each name was read so far; shows whether a macro uses caller, kwargs or varargs.
  std::map<std::string, int, std::less<>> specials_;
};

}  // namespace horizon
