#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/chat/jinja/jinja_value.h"

namespace horizon {

// Variables that a template set, from the innermost block outwards. Macros keep the scope that they
// were made in.
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

  // nullptr if neither this scope nor one around it has the name.
  const JinjaValue* Find(std::string_view name) const {
    for (const JinjaScope* scope = this; scope != nullptr; scope = scope->parent.get()) {
      for (const auto& [known, value] : scope->variables) {
        if (known == name) return &value;
      }
    }
    return nullptr;
  }
};

inline std::shared_ptr<JinjaScope> InnerScope(std::shared_ptr<JinjaScope> parent) {
  auto scope = std::make_shared<JinjaScope>();
  scope->parent = std::move(parent);
  return scope;
}

}  // namespace horizon
