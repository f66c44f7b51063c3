#include <algorithm>
#include <utility>

#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "model/chat/jinja/jinja_attributes.h"
#include "model/chat/jinja/jinja_evaluate.h"
#include "model/chat/jinja/jinja_parameters.h"
#include "model/chat/jinja/python/python_text.h"

namespace horizon {
namespace {

using Kind = JinjaValue::Kind;

// The most items of a range, as Jinja's sandbox has it (MAX_RANGE).
constexpr int64_t kMostOfRange = 100'000;

JinjaValue CallRange(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  int64_t bounds[3] = {0, 0, 1};
  const size_t count = arguments.positional.size();
  if (count == 0 || count > 3 || !arguments.named.empty()) {
    return run.Fail("range() takes one to three integers");
  }
  for (size_t i = 0; i < count; ++i) {
    if (!arguments.positional[i].is_integral()) {
      return run.Fail(StrCat("'", PythonTypeName(arguments.positional[i]),
                             "' object cannot be interpreted as an integer"));
    }
    bounds[count == 1 ? 1 : i] = arguments.positional[i].integer();
  }
  JinjaSequence range;
  range.start = bounds[0];
  range.stop = bounds[1];
  range.step = bounds[2];
  if (range.step == 0) return run.Fail("range() arg 3 must not be zero");
  for (int64_t i = range.start; range.step > 0 ? i < range.stop : i > range.stop;) {
    if (static_cast<int64_t>(range.items.size()) >= kMostOfRange) {
      return run.Fail(StrCat("a range has more than ", kMostOfRange, " items"));
    }
    range.items.push_back(JinjaValue::Integer(i));
    if (__builtin_add_overflow(i, range.step, &i)) break;
  }
  return run.MakeSequence(Kind::kRange, std::move(range));
}

// dict(pairs or mapping, name=value, ...).
JinjaValue::Entries DictEntries(JinjaRun& run, std::string_view function,
                                const JinjaArguments& arguments) {
  JinjaValue::Entries entries;
  if (arguments.positional.size() > 1) {
    run.Fail(StrCat(function, " expected at most 1 argument, got ", arguments.positional.size()));
  } else if (!arguments.positional.empty() && arguments.positional[0].is(Kind::kDict)) {
    entries = arguments.positional[0].dict().entries;
  } else if (!arguments.positional.empty()) {
    for (const JinjaValue& item : TakeItems(run, arguments.positional[0])) {
      std::vector<JinjaValue> pair = TakeItems(run, item);
      if (pair.size() != 2) {
        run.Fail(StrCat(function, " takes pairs, and an item has length ", pair.size()));
        return entries;
      }
      entries.emplace_back(std::move(pair[0]), std::move(pair[1]));
    }
  }
  for (const auto& [name, value] : arguments.named) entries.emplace_back(run.MakeText(name), value);
  return entries;
}

JinjaValue CallDict(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  // A copy of a message is that message.
  const int32_t message = arguments.positional.empty() ? -1 : arguments.positional[0].message();
  return run.MakeDict(DictEntries(run, "dict", arguments), message);
}

class NamespaceObject : public JinjaObject {
 public:
  explicit NamespaceObject(JinjaValue::Entries attributes) : attributes_(std::move(attributes)) {}
  std::string_view TypeName() const override { return "Namespace"; }
  void Release() override { attributes_.clear(); }

  std::optional<JinjaValue> Attribute(JinjaRun& run, std::string_view name) override {
    for (const auto& [known, value] : attributes_) {
      if (known.is(Kind::kString) && known.string().text() == name) return value;
    }
    return std::nullopt;
  }

  void Set(JinjaRun& run, std::string_view name, JinjaValue attribute) {
    for (auto& [known, value] : attributes_) {
      if (!known.is(Kind::kString) || known.string().text() != name) continue;
      value = std::move(attribute);
      return;
    }
    attributes_.emplace_back(run.MakeText(name), std::move(attribute));
  }

  std::optional<TracedText> Repr(JinjaRun& run) override {
    JinjaTextBuilder text(run);
    text.Append("<Namespace ");
    text.Append(PythonRepr(run, run.MakeDict(attributes_)));
    text.Append(">");
    return text.Finish();
  }

 private:
  JinjaValue::Entries attributes_;
};

bool CheckNamespaceName(JinjaRun& run, std::string_view name) {
  if (!name.starts_with('_')) return true;
  run.Fail(StrCat("a namespace cannot have the attribute ", Quoted(name),
                  ", since its name begins with an underscore"));
  return false;
}

JinjaValue CallNamespace(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  // Through a dict, since of equal names one stays.
  const JinjaValue dict = run.MakeDict(DictEntries(run, "namespace", arguments));
  if (run.failed()) return {};
  for (const auto& [name, value] : dict.dict().entries) {
    if (name.is(Kind::kString) && !CheckNamespaceName(run, name.string().text())) return {};
  }
  return run.MakeObject(std::make_shared<NamespaceObject>(dict.dict().entries));
}

class CyclerObject : public JinjaObject, public std::enable_shared_from_this<CyclerObject> {
 public:
  explicit CyclerObject(std::vector<JinjaValue> items) : items_(std::move(items)) {}
  std::string_view TypeName() const override { return "Cycler"; }
  void Release() override { items_.clear(); }
  std::optional<JinjaValue> Attribute(JinjaRun& run, std::string_view name) override;
  JinjaValue Next() {
    JinjaValue item = items_.empty() ? JinjaValue() : items_[at_];
    if (!items_.empty()) at_ = (at_ + 1) % items_.size();
    return item;
  }
  void Reset() { at_ = 0; }

 private:
  std::vector<JinjaValue> items_;
  size_t at_ = 0;
};

std::optional<JinjaValue> CyclerObject::Attribute(JinjaRun& run, std::string_view name) {
  const JinjaValue self = JinjaValue::Object(shared_from_this());
  if (name == "current") return items_.empty() ? JinjaValue() : items_[at_];
  if (name == "pos") return JinjaValue::Integer(static_cast<int64_t>(at_));
  if (name == "items") return run.MakeTuple(items_);
  if (name == "next") {
    return MakeMethod(
        [](JinjaRun& in, const JinjaValue& cycler, const JinjaArguments&) {
          return static_cast<CyclerObject&>(cycler.object()).Next();
        },
        self, name);
  }
  if (name == "reset") {
    return MakeMethod(
        [](JinjaRun& in, const JinjaValue& cycler, const JinjaArguments&) {
          static_cast<CyclerObject&>(cycler.object()).Reset();
          return JinjaValue::None();
        },
        self, name);
  }
  return std::nullopt;
}

JinjaValue CallCycler(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  if (arguments.positional.empty()) return run.Fail("at least one item has to be provided");
  if (!arguments.named.empty()) return run.Fail("cycler() takes no keyword arguments");
  return run.MakeObject(std::make_shared<CyclerObject>(arguments.positional));
}

class JoinerObject : public JinjaObject {
 public:
  explicit JoinerObject(JinjaValue separator) : separator_(std::move(separator)) {}
  std::string_view TypeName() const override { return "Joiner"; }
  bool callable() const override { return true; }
  void Release() override { separator_ = {}; }
  JinjaValue Call(JinjaRun& run, const JinjaArguments& arguments) override {
    if (std::exchange(used_, true)) return separator_;
    return run.MakeText("");
  }
  std::optional<JinjaValue> Attribute(JinjaRun& run, std::string_view name) override {
    if (name == "sep") return separator_;
    if (name == "used") return JinjaValue::Bool(used_);
    return std::nullopt;
  }

 private:
  JinjaValue separator_;
  bool used_ = false;
};

JinjaValue CallJoiner(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "joiner", arguments, {"sep"}, 0);
  return run.MakeObject(std::make_shared<JoinerObject>(given.Or(0, run.MakeText(", "))));
}

// The variable `self`: its attributes would be the blocks of the template, of which there are none.
class TemplateObject : public JinjaObject {
 public:
  std::string_view TypeName() const override { return "TemplateReference"; }
};

JinjaValue CallRaise(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "raise_exception", arguments, {"message"}, 1);
  return run.Fail(PythonStr(run, given[0]).text());
}

JinjaValue CallStrftime(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "strftime_now", arguments, {"format"}, 1);
  const TracedText format = given.Text(0, "");
  return run.failed() ? JinjaValue() : run.MakeText(run.options().strftime_now(format.text()));
}

}  // namespace

JinjaValue FindGlobal(JinjaRun& run, std::string_view name) {
  static constexpr std::pair<std::string_view, JinjaMethod> kGlobals[] = {
      {"range", CallRange},          {"dict", CallDict},     {"namespace", CallNamespace},
      {"cycler", CallCycler},        {"joiner", CallJoiner}, {"raise_exception", CallRaise},
      {"strftime_now", CallStrftime}};
  for (const auto& [known, function] : kGlobals) {
    if (known != name) continue;
    if (name == "strftime_now" && !run.options().strftime_now) break;
    return MakeMethod(function, JinjaValue::None(), name);
  }
  if (name == "self") return run.MakeObject(std::make_shared<TemplateObject>());
  return JinjaValue::Undefined(StrCat(PythonRepr(name), " is undefined"));
}

void SetNamespaceAttribute(JinjaRun& run, const JinjaValue& value, std::string_view name,
                           JinjaValue attribute) {
  if (run.failed()) return;
  auto* const target =
      value.is(Kind::kObject) ? dynamic_cast<NamespaceObject*>(&value.object()) : nullptr;
  if (target == nullptr) {
    run.Fail("cannot assign attribute on non-namespace object");
  } else if (CheckNamespaceName(run, name)) {
    target->Set(run, name, std::move(attribute));
  }
}

}  // namespace horizon
