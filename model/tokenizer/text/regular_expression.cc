#include "model/tokenizer/text/regular_expression.h"

#include <string>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "model/tokenizer/text/translate_expression.h"

namespace horizon {
namespace {

// A split expression needs some dozen steps for a character; a hostile one any number. The limit
// counts calls of the matcher for one match, and ends "(a+)+b" within a second.
constexpr uint32_t kMatchLimit = 10'000'000;
constexpr uint32_t kHeapKibibytes = 64 << 10;
constexpr size_t kFirstStack = size_t{64} << 10;
constexpr size_t kLargestStack = size_t{16} << 20;
constexpr size_t kLongestExpression = size_t{64} << 10;

std::string ErrorText(int code) {
  PCRE2_UCHAR text[256];
  if (pcre2_get_error_message(code, text, sizeof(text)) < 0) return "unknown error";
  return reinterpret_cast<const char*>(text);
}

}  // namespace

struct MatchMemory::Parts {
  // One pair of places: nobody asks for the groups.
  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(kFirstStack, kLargestStack, nullptr);

  Parts() {
    if (context == nullptr) return;
    pcre2_set_match_limit(context, kMatchLimit);
    pcre2_set_heap_limit(context, kHeapKibibytes);
    // Without compiled code there is no stack either, and none is needed.
    if (stack != nullptr) pcre2_jit_stack_assign(context, nullptr, stack);
  }
};

void MatchMemory::Free::operator()(Parts* parts) const {
  pcre2_match_data_free(parts->data);
  pcre2_match_context_free(parts->context);
  pcre2_jit_stack_free(parts->stack);
  delete parts;
}

struct RegularExpression::Code {
  pcre2_code* code = nullptr;
  bool compiled = false;  // to machine code
  std::string text;
};

void RegularExpression::Free::operator()(Code* code) const {
  pcre2_code_free(code->code);
  delete code;
}

absl::StatusOr<RegularExpression> RegularExpression::Compile(std::string_view expression) {
  if (expression.size() > kLongestExpression) {
    return absl::InvalidArgumentError(StrCat("a regular expression of ", expression.size(),
                                             " bytes; ", kLongestExpression, " are allowed"));
  }
  ASSIGN_OR_RETURN(const std::string translated, TranslateExpression(expression));
  const std::unique_ptr<pcre2_compile_context, void (*)(pcre2_compile_context*)> context(
      pcre2_compile_context_create(nullptr), pcre2_compile_context_free);
  if (context == nullptr) return absl::ResourceExhaustedError("no memory for a compiler");
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  RegularExpression result;
  result.code_.reset(new Code);
  Code& code = *result.code_;
  code.text = expression;
  int error = 0;
  size_t place = 0;
  code.code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                            PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C,
                            &error, &place, context.get());
  if (code.code == nullptr) {
    return absl::InvalidArgumentError(
        StrCat("the regular expression ", Quoted(expression), " is not valid: ", ErrorText(error)));
  }
  // Where this fails (no executable memory) the interpreter does the work.
  code.compiled = pcre2_jit_compile(code.code, PCRE2_JIT_COMPLETE) == 0;
  return result;
}

absl::StatusOr<std::optional<RegularExpression::Match>> RegularExpression::Find(
    std::string_view text, size_t from, MatchMemory& memory) const {
  if (memory.parts_ == nullptr) memory.parts_.reset(new MatchMemory::Parts);
  MatchMemory::Parts& parts = *memory.parts_;
  if (parts.data == nullptr || parts.context == nullptr) {
    return absl::ResourceExhaustedError("no memory to match regular expressions in");
  }
  const auto subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  const int found = code_->compiled ? pcre2_jit_match(code_->code, subject, text.size(), from, 0,
                                                      parts.data, parts.context)
                                    : pcre2_match(code_->code, subject, text.size(), from,
                                                  PCRE2_NO_UTF_CHECK, parts.data, parts.context);
  if (found == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (found < 0) {
    return absl::ResourceExhaustedError(StrCat("the regular expression ", Quoted(code_->text),
                                               " gave up on a text of ", text.size(),
                                               " bytes: ", ErrorText(found)));
  }
  const size_t* places = pcre2_get_ovector_pointer(parts.data);
  // \K inside a look-ahead can put the begin behind the end.
  if (places[0] > places[1] || places[0] < from) {
    return absl::ResourceExhaustedError(
        StrCat("the regular expression ", Quoted(code_->text), " matches backwards"));
  }
  return Match{places[0], places[1]};
}

}  // namespace horizon
