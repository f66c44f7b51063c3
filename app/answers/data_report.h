#pragma once

#include <string>
#include <string_view>

#include "common/text/wrap.h"
#include "model/tokenizer/tokenizer.h"
#include "runtime/data/check_data.h"
#include "runtime/data/tokenise_files.h"

namespace horizon {

// How a shown sample marks the tokens that are masked out of the loss.
enum class MaskStyle {
  kBrackets,  // [[...]]
  kColour,    // dim, by terminal codes
};

// The answer of `horizon data check`, as text and as JSON: counts, lengths, a histogram, bad lines,
// and a sample as the model will see it. Pure. `columns`
// is the width of the terminal, or kAnyWidth; the text of the sample keeps its lines.
std::string DataCheckText(const DataFiles& files, const DataCheck& check, MaskStyle style,
                          size_t columns = kAnyWidth);
std::string DataCheckJson(const DataFiles& files, const DataCheck& check);

// The sample's text, in which the tokens masked out of the loss are marked. Without a tokenizer it
// shows token ids. At most `most_tokens` tokens are shown, then the number of those left out.
std::string MarkedSample(const Tokenizer* tokenizer, const TokenLine& sample, MaskStyle style,
                         size_t most_tokens);

}  // namespace horizon
