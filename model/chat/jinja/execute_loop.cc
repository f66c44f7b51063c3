#include <utility>

#include "common/text/str_cat.h"
#include "model/chat/jinja/jinja_attributes.h"
#include "model/chat/jinja/jinja_evaluate.h"
#include "model/chat/jinja/python/python_compare.h"

namespace horizon {
namespace {

// The variable `loop`.
class LoopObject : public JinjaObject, public std::enable_shared_from_this<LoopObject> {
 public:
  LoopObject(const JinjaStatement& statement, JinjaScopePtr outer, std::vector<JinjaValue> items,
             int depth)
      : statement_(statement), outer_(std::move(outer)), items_(std::move(items)), depth_(depth) {}

  std::string_view TypeName() const override { return "LoopContext"; }
  bool callable() const override { return true; }
  void Release() override {
    items_.clear();
    changed_.clear();
    outer_ = nullptr;
  }

  JinjaValue Call(JinjaRun& run, const JinjaArguments& arguments) override;
  std::optional<JinjaValue> Attribute(JinjaRun& run, std::string_view name) override;
  std::optional<TracedText> Repr(JinjaRun& run) override {
    return TracedText(StrCat("<LoopContext ", index_ + 1, "/", items_.size(), ">"), {});
  }

  const std::vector<JinjaValue>& items() const { return items_; }
  void set_index(size_t index) { index_ = index; }
  JinjaValue Cycle(JinjaRun& run, const JinjaArguments& arguments) const {
    if (arguments.positional.empty()) return run.Fail("no items for cycling given");
    return arguments.positional[index_ % arguments.positional.size()];
  }
  JinjaValue Changed(std::vector<JinjaValue> values) {
    const bool same =
        asked_ && PythonEquals(JinjaValue::Tuple(values), JinjaValue::Tuple(changed_));
    asked_ = true;
    changed_ = std::move(values);
    return JinjaValue::Bool(!same);
  }

 private:
  const JinjaStatement& statement_;
  JinjaScopePtr outer_;
  std::vector<JinjaValue> items_;
  int depth_;
  size_t index_ = 0;
  bool asked_ = false;
  std::vector<JinjaValue> changed_;  // what `changed` was asked for last
};

JinjaValue CallCycle(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  return static_cast<LoopObject&>(self.object()).Cycle(run, arguments);
}

JinjaValue CallChanged(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  return static_cast<LoopObject&>(self.object()).Changed(arguments.positional);
}

// Items for which the condition of the loop holds.
std::vector<JinjaValue> Selected(JinjaRun& run, const JinjaScopePtr& scope,
                                 const JinjaStatement& statement, std::vector<JinjaValue> items) {
  if (statement.expressions[1] == nullptr) return items;
  std::vector<JinjaValue> selected;
  for (JinjaValue& item : items) {
    const JinjaScopePtr inner = InnerScope(scope);
    Assign(run, inner, *statement.targets[0], item);
    if (run.failed()) break;
    if (PythonTruth(run, Evaluate(run, inner, *statement.expressions[1]))) {
      selected.push_back(std::move(item));
    }
  }
  return selected;
}

JinjaFlow RunLoop(JinjaRun& run, const JinjaScopePtr& scope, const JinjaStatement& statement,
                  const JinjaValue& iterable, int depth) {
  const auto loop = std::make_shared<LoopObject>(
      statement, scope, Selected(run, scope, statement, TakeItems(run, iterable)), depth);
  if (run.failed()) return JinjaFlow::kBreak;
  if (loop->items().empty()) return Execute(run, InnerScope(scope), statement.else_body);
  const JinjaValue loop_value = JinjaValue::Object(loop);
  const int32_t message = run.message;
  for (size_t i = 0; i < loop->items().size() && run.Step(statement.line); ++i) {
    loop->set_index(i);
    const JinjaValue item = loop->items()[i];
    if (item.message() >= 0) run.message = item.message();
    const JinjaScopePtr inner = InnerScope(scope);
    inner->Set("loop", loop_value);
    Assign(run, inner, *statement.targets[0], item);
    const JinjaFlow flow = Execute(run, inner, statement.body);
    run.message = message;
    if (flow == JinjaFlow::kBreak) break;
  }
  loop->Release();
  return JinjaFlow::kNormal;
}

JinjaValue LoopObject::Call(JinjaRun& run, const JinjaArguments& arguments) {
  if (!statement_.recursive) {
    return run.Fail("The loop must have the 'recursive' marker to be called recursively.");
  }
  if (arguments.positional.size() != 1 || !arguments.named.empty()) {
    return run.Fail("loop() takes one argument");
  }
  TracedText text;
  TracedText* const before = run.Redirect(&text);
  RunLoop(run, outer_, statement_, arguments.positional[0], depth_ + 1);
  run.Redirect(before);
  return run.MakeString(std::move(text));
}

std::optional<JinjaValue> LoopObject::Attribute(JinjaRun& run, std::string_view name) {
  if (items_.empty()) return std::nullopt;  // the loop is over
  const auto index = static_cast<int64_t>(index_);
  const auto length = static_cast<int64_t>(items_.size());
  if (name == "index") return JinjaValue::Integer(index + 1);
  if (name == "index0") return JinjaValue::Integer(index);
  if (name == "revindex") return JinjaValue::Integer(length - index);
  if (name == "revindex0") return JinjaValue::Integer(length - index - 1);
  if (name == "first") return JinjaValue::Bool(index == 0);
  if (name == "last") return JinjaValue::Bool(index + 1 == length);
  if (name == "length") return JinjaValue::Integer(length);
  if (name == "depth") return JinjaValue::Integer(depth_ + 1);
  if (name == "depth0") return JinjaValue::Integer(depth_);
  if (name == "previtem") {
    return index == 0 ? JinjaValue::Undefined("there is no previous item") : items_[index_ - 1];
  }
  if (name == "nextitem") {
    return index + 1 == length ? JinjaValue::Undefined("there is no next item")
                               : items_[index_ + 1];
  }
  for (const auto& [known, method] :
       {std::pair<std::string_view, JinjaMethod>{"cycle", CallCycle}, {"changed", CallChanged}}) {
    if (name == known) return MakeMethod(method, JinjaValue::Object(shared_from_this()), known);
  }
  return std::nullopt;
}

}  // namespace

JinjaFlow ExecuteFor(JinjaRun& run, const JinjaScopePtr& scope, const JinjaStatement& statement) {
  const JinjaValue iterable = Evaluate(run, scope, *statement.expressions[0]);
  run.set_line(statement.line);
  return RunLoop(run, scope, statement, iterable, 0);
}

}  // namespace horizon
