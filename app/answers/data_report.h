#pragma once

#include <string>
#include <string_view>

#include "model/tokenizer/tokenizer.h"
#include "runtime/data/check_data.h"
#include "runtime/data/tokenise_files.h"

namespace horizon {

// How the part of a sample that is not learnt is told from the rest.
enum class MaskStyle {
  kBrackets,  // [[...]]
  kColour,    // dim, by terminal codes
};

// The answer of `horizon data check`: counts, lengths, a histogram, bad lines, and a sample as the
// model will see it. Pure.
std::string DataCheckText(const DataFiles& files, const DataCheck& check, MaskStyle style);
std::string DataCheckJson(const DataFiles& files, const DataCheck& check);

// The sample's text with what is not learnt marked; ids where there is no tokenizer. At most about
// `most_tokens` of it.
std::string MarkedSample(const Tokenizer* tokenizer, const TokenLine& sample, MaskStyle style,
                         size_t most_tokens);

}  // namespace horizon
