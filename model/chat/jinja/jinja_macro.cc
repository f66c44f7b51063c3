#include <algorithm>
#include <utility>

#include "common/text/str_cat.h"
#include "model/chat/jinja/jinja_evaluate.h"
#include "model/chat/jinja/python/python_text.h"

namespace horizon {
namespace {

class MacroObject : public JinjaObject {
 public:
  MacroObject(JinjaScopePtr scope, const JinjaStatement& statement, std::string_view name)
      : scope_(std::move(scope)), statement_(statement), name_(name) {}

  std::string_view TypeName() const override { return "Macro"; }
  bool callable() const override { return true; }
  void Release() override { scope_ = nullptr; }

  std::optional<TracedText> Repr(JinjaRun& run) override {
    return TracedText(StrCat("<Macro ", PythonRepr(name_), ">"), {});
  }

  std::optional<JinjaValue> Attribute(JinjaRun& run, std::string_view name) override {
    const JinjaSignature& signature = statement_.signature;
    if (name == "name") return run.MakeText(name_);
    if (name == "catch_kwargs") return JinjaValue::Bool(signature.takes_named);
    if (name == "catch_varargs") return JinjaValue::Bool(signature.takes_positional);
    if (name == "caller") return JinjaValue::Bool(signature.takes_caller);
    if (name == "arguments") {
      std::vector<JinjaValue> names;
      for (const std::string& one : signature.parameters) names.push_back(run.MakeText(one));
      return run.MakeTuple(std::move(names));
    }
    return std::nullopt;
  }

  JinjaValue Call(JinjaRun& run, const JinjaArguments& arguments) override {
    const JinjaScopePtr scope = InnerScope(scope_);
    JinjaArguments left = arguments;
    BindParameters(run, left, *scope);
    BindSpecials(run, left, *scope);
    FillDefaults(run, scope);
    TracedText text;
    if (!run.failed()) ExecuteInto(run, scope, statement_.body, text);
    return run.MakeString(std::move(text));
  }

 private:
  static std::optional<JinjaValue> TakeNamed(JinjaArguments& arguments, std::string_view name) {
    for (auto it = arguments.named.begin(); it != arguments.named.end(); ++it) {
      if (it->first != name) continue;
      JinjaValue value = std::move(it->second);
      arguments.named.erase(it);
      return value;
    }
    return std::nullopt;
  }

  // Takes the arguments of the declared parameters out of `arguments`.
  void BindParameters(JinjaRun& run, JinjaArguments& arguments, JinjaScope& scope) const {
    const std::vector<std::string>& parameters = statement_.signature.parameters;
    const size_t positional = std::min(parameters.size(), arguments.positional.size());
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (i < positional) {
        scope.Set(parameters[i], arguments.positional[i]);
      } else if (std::optional<JinjaValue> value = TakeNamed(arguments, parameters[i])) {
        scope.Set(parameters[i], *std::move(value));
      }
    }
    arguments.positional.erase(
        arguments.positional.begin(),
        arguments.positional.begin() + static_cast<std::ptrdiff_t>(positional));
  }

  void BindSpecials(JinjaRun& run, JinjaArguments& arguments, JinjaScope& scope) const {
    const JinjaSignature& signature = statement_.signature;
    const bool declares_caller = std::find(signature.parameters.begin(), signature.parameters.end(),
                                           "caller") != signature.parameters.end();
    if (signature.takes_caller && !declares_caller) {
      std::optional<JinjaValue> caller = TakeNamed(arguments, "caller");
      scope.Set("caller", caller.has_value() ? *std::move(caller)
                                             : JinjaValue::Undefined("No caller defined"));
    }
    if (signature.takes_named) {
      JinjaValue::Entries entries;
      for (auto& [name, value] : arguments.named) entries.emplace_back(run.MakeText(name), value);
      scope.Set("kwargs", run.MakeDict(std::move(entries)));
    } else if (!arguments.named.empty()) {
      run.Fail(
          StrCat("macro '", name_, "' takes no keyword argument '", arguments.named[0].first, "'"));
    }
    if (signature.takes_positional) {
      scope.Set("varargs", run.MakeTuple(arguments.positional));
    } else if (!arguments.positional.empty()) {
      run.Fail(StrCat("macro '", name_, "' takes not more than ", signature.parameters.size(),
                      " argument(s)"));
    }
  }

  // In order, so that a default can name parameters before it.
  void FillDefaults(JinjaRun& run, const JinjaScopePtr& scope) const {
    const JinjaSignature& signature = statement_.signature;
    const size_t without = signature.parameters.size() - signature.defaults.size();
    for (size_t i = 0; i < signature.parameters.size(); ++i) {
      const std::string& name = signature.parameters[i];
      const bool bound = std::any_of(scope->variables.begin(), scope->variables.end(),
                                     [&](const auto& variable) { return variable.first == name; });
      if (bound) continue;
      scope->Set(name, i >= without ? Evaluate(run, scope, *signature.defaults[i - without])
                                    : JinjaValue::Undefined(
                                          StrCat("parameter '", name, "' was not provided")));
    }
  }

  JinjaScopePtr scope_;
  const JinjaStatement& statement_;
  std::string name_;
};

}  // namespace

JinjaValue MakeMacro(JinjaRun& run, const JinjaScopePtr& scope, const JinjaStatement& statement,
                     std::string_view name) {
  run.Keep(scope);
  return run.MakeObject(std::make_shared<MacroObject>(scope, statement, name));
}

}  // namespace horizon
