#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/chat/jinja/jinja_value.h"

namespace horizon {

// The variables that a template has set in one scope, and the enclosing scopes. A macro keeps the
// scope in which it was defined.
struct JinjaScope {
  std::shared_ptr<JinjaScope> parent;
  std::vector<std::pair<std::string, JinjaValue>> variables;

  void Set(std::string_view name, JinjaValue value) {
    for (auto& [known, old] : variables) {
      if (known == name) {
        old = std::move(value);
        return;
      }
    }
    variables.emplace_back(std::string(name), std::move(value));
  }

  // Returns nullptr if neither this scope nor an enclosing one has the name.
  const JinjaValue* Find(std::string_view name) const {
    for (const JinjaScope* scope = this; scope != nullptr; scope = scope->parent.get()) {
      for (const auto& [known, value] : scope->variables) {
        if (known == name) return &value;
      }
    }
    return nullptr;
  }
};

// Makes an empty scope inside `parent`.
inline std::shared_ptr<JinjaScope> InnerScope(std::shared_ptr<JinjaScope> parent) {
  auto scope = std::make_shared<JinjaScope>();
  scope->parent = std::move(parent);
  return scope;
}

}  // namespace horizon
