#include "model/chat/jinja/syntax/hidden_names.h"

#include <set>

namespace horizon {
namespace {

using Kind = JinjaStatement::Kind;

// Goes through a template as Jinja's compiler does when it looks for the variables of a scope.
class NameSearch {
 public:
  void Visit(const JinjaStatements& statements) {
    for (const JinjaStatement& statement : statements) Visit(statement);
  }

  std::vector<std::string> hidden;

 private:
  void Visit(const JinjaStatement& statement) {
    switch (statement.kind) {
      case Kind::kFor:
        Read(statement.expressions[0].get());  // the rest is a scope of its own
        break;
      case Kind::kIf: {
        Read(statement.expressions[0].get());
        // What only some branches set is looked up before.
        const bool conditional = conditional_;
        conditional_ = true;
        Visit(statement.body);
        Visit(statement.else_body);
        conditional_ = conditional;
        break;
      }
      case Kind::kMacro:
        Store(statement.name);
        break;
      case Kind::kSetBlock:
        StoreTarget(*statement.targets[0]);
        break;
      case Kind::kGeneration:
        break;
      default:
        for (const JinjaExpressionPtr& expression : statement.expressions) Read(expression.get());
        if (statement.kind == Kind::kSet) StoreTarget(*statement.targets[0]);
    }
  }

  void Read(const JinjaExpression* node) {
    if (node == nullptr) return;
    if (node->kind == JinjaExpression::Kind::kName) known_.insert(node->name);
    for (const JinjaExpressionPtr& child : node->children) Read(child.get());
    const JinjaCallArguments& arguments = node->arguments;
    for (const JinjaExpressionPtr& one : arguments.positional) Read(one.get());
    for (const auto& [name, one] : arguments.named) Read(one.get());
    Read(arguments.more_positional.get());
    Read(arguments.more_named.get());
  }

  void StoreTarget(const JinjaExpression& target) {
    if (target.kind == JinjaExpression::Kind::kName) return Store(target.name);
    if (target.kind == JinjaExpression::Kind::kNamespaceAttribute) known_.insert(target.name);
    for (const JinjaExpressionPtr& child : target.children) StoreTarget(*child);
  }

  void Store(const std::string& name) {
    if (known_.insert(name).second && !conditional_) hidden.push_back(name);
  }

  std::set<std::string> known_;
  bool conditional_ = false;
};

}  // namespace

std::vector<std::string> FindHiddenNames(const JinjaStatements& statements) {
  NameSearch search;
  search.Visit(statements);
  return std::move(search.hidden);
}

}  // namespace horizon
