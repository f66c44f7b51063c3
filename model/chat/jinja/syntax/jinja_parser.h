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

struct JinjaSyntax {
  JinjaStatements statements;
  bool has_generation = false;
};

// InvalidArgument "NAME:LINE: ..." for what is no template, and for filters and tests that do not
// exist (inside of {% if %} those are an error only when they are reached, as in Jinja).
absl::StatusOr<JinjaSyntax> ParseJinja(std::string_view source, std::string_view name);

// Reads tokens from the front. The first error is kept; from then on every token is the end, so
// that all functions return soon and what they return does not matter.
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

  // Tokens.
  const JinjaToken& current() const { return tokens_[at_]; }
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
  // Whether a chain such as a + b + c, which makes a tree as deep as it is long, may go on.
  bool StaysShort(int length);
  void Leave() { --depth_; }

  // Statements (jinja_parser.cc).
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
  int loops_ = 0;             // around here, within the same macro
  bool conditional_ = false;  // within {% if %} or an inline if of the same scope
  bool has_generation_ = false;
  // Unknown filters and tests, by line, that no inline if around them excuses so far.
  std::vector<std::pair<int, std::string>> unknown_;
  std::map<std::string, int, std::less<>> specials_;  // how often caller, kwargs, varargs were read
};

}  // namespace horizon
