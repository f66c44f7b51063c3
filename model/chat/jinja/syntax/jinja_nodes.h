#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/chat/jinja/jinja_value.h"

namespace horizon {

// The nodes of the syntax tree of a template, which JinjaParser builds.

// The unary and binary operators and comparisons.
enum class JinjaOperator : uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn,
  kNegate,
  kPlus,
};

struct JinjaExpression;
using JinjaExpressionPtr = std::unique_ptr<JinjaExpression>;

// The arguments of a call, before they are evaluated.
struct JinjaCallArguments {
  std::vector<JinjaExpressionPtr> positional;
  std::vector<std::pair<std::string, JinjaExpressionPtr>> named;
  JinjaExpressionPtr more_positional;  // *args, or null
  JinjaExpressionPtr more_named;       // **kwargs, or null
};

// An expression. The comments say what `children` holds for each kind.
struct JinjaExpression {
  enum class Kind : uint8_t {
    kConstant,
    kName,
    kNamespaceAttribute,  // only as a target: name.attribute
    kTuple,
    kList,
    kDict,       // children: key, value, key, value, ...
    kAttribute,  // children[0].name
    kItem,       // children[0][children[1]]
    kSlice,      // children: begin, end, step, each may be null; only below kItem
    kCall,       // children[0](arguments)
    kFilter,     // children[0]|name(arguments); children[0] is null if a block is filtered
    kTest,       // children[0] is name(arguments)
    kNot,
    kAnd,
    kOr,
    kUnary,
    kBinary,
    kCompare,    // children[0] operators[0] children[1] operators[1] ...
    kConcat,     // a ~ b ~ c
    kCondition,  // children[1] if children[0] else children[2], which may be null
  };
  Kind kind = Kind::kConstant;
  int line = 1;
  std::string name;
  std::string attribute;
  JinjaValue constant;
  std::vector<JinjaExpressionPtr> children;
  std::vector<JinjaOperator> operators;
  JinjaCallArguments arguments;
};

struct JinjaStatement;
using JinjaStatements = std::vector<JinjaStatement>;

// The parameters of a macro or call block. The last defaults.size() of them have defaults.
struct JinjaSignature {
  std::vector<std::string> parameters;
  std::vector<JinjaExpressionPtr> defaults;
  bool takes_caller = false;      // the body uses `caller`
  bool takes_named = false;       // the body uses `kwargs`
  bool takes_positional = false;  // the body uses `varargs`
};

// A statement. The comments say which members each kind uses.
struct JinjaStatement {
  enum class Kind : uint8_t {
    kOutput,       // expressions
    kFor,          // target in expressions[0] if expressions[1] (may be null): body, else_body
    kIf,           // if expressions[0]: body, else else_body
    kSet,          // target = expressions[0]
    kSetBlock,     // target = body, through the filters of expressions[0] (may be null)
    kMacro,        // name, signature, body
    kCallBlock,    // expressions[0] is the call; signature and body define `caller`
    kFilterBlock,  // body through the filters of expressions[0]
    kWith,         // targets = expressions: body
    kGeneration,   // body
    kBreak,
    kContinue,
  };
  Kind kind = Kind::kOutput;
  int line = 1;
  std::string name;
  bool recursive = false;
  std::vector<JinjaExpressionPtr> targets;
  std::vector<JinjaExpressionPtr> expressions;
  JinjaSignature signature;
  JinjaStatements body;
  JinjaStatements else_body;
};

}  // namespace horizon
