#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "app/commands/commands.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "common/units.h"
#include "model/tokenizer/load_tokenizer.h"
#include "model/tokenizer/tokenizer.h"
#include "runtime/data/records/sequential_reader.h"
#include "runtime/data/text_piece.h"

namespace horizon {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;

struct Counts {
  uint64_t bytes = 0;
  uint64_t characters = 0;
  uint64_t words = 0;
  uint64_t lines = 0;
  uint64_t tokens = 0;
  uint64_t distinct = 0;
  double seconds = 0;  // of encoding alone
  std::vector<int32_t> sample;
};

// Counts what a person sees in a text; `in_word` goes on from piece to piece.
void CountText(std::string_view text, bool& in_word, Counts& counts) {
  counts.bytes += text.size();
  for (const char c : text) {
    const bool space = c == ' ' || (c >= '\t' && c <= '\r');
    counts.words += !space && !in_word ? 1 : 0;
    in_word = !space;
    counts.lines += c == '\n' ? 1 : 0;
    counts.characters += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
  }
}

double Ratio(double value, double to) { return to > 0 ? value / to : 0; }

std::string Rounded(double value) {
  const int64_t hundredths = std::llround(value * 100);
  return StrCat(hundredths / 100, ".", hundredths % 100 < 10 ? "0" : "", hundredths % 100);
}

class TokenizeCommand : public Command {
 public:
  std::string_view name() const override { return "tokenize"; }
  std::string_view summary() const override {
    return "Count the tokens of a text file, show the first of them, or write all ids";
  }
  std::string_view details() const override {
    return "The file is read in pieces, cut at line breaks, so its size does not matter. Special "
           "tokens that are spelled in the text count as such; the tokens that a model wants "
           "around a text are not counted. In the sample, a bar marks the end of every token. With "
           "--ids, all ids go to standard output as they are made, and nothing else does.";
  }
  OptionList Options() override {
    return {
        .options =
            {{.name = "model",
              .value = &model_,
              .unit = "folder",
              .help = "Folder with the tokenizer.json of a Hugging Face model"},
             {.name = "tokenizer",
              .value = &tokenizer_,
              .unit = "kind",
              .help = "Tokenizer: the model's, or one token per byte",
              .choices = {"model", "byte"}},
             {.name = "sample",
              .value = &sample_,
              .unit = "tokens",
              .help = "Number of tokens to show",
              .minimum = 0,
              .maximum = 1000},
             {.name = "ids",
              .value = &ids_,
              .help =
                  "Write all token ids and nothing else: on one line, or with --json as an array"},
             {.name = "json", .value = &json_, .help = "Answer in JSON"}},
        .positionals = {
            {.name = "FILE", .value = &file_, .help = "Text file", .words = WordKind::kFile}}};
  }

  absl::Status Run(const CommandContext& context) override {
    ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer, MakeTokenizer(context.io));
    ASSIGN_OR_RETURN(SequentialReader reader, SequentialReader::Open(context.io, file_));
    if (ids_) return WriteIds(*tokenizer, reader, context.output);
    ASSIGN_OR_RETURN(const Counts counts, Count(*tokenizer, reader, context.clock));
    return context.output.Write(json_ ? Json(*tokenizer, counts) : Text(*tokenizer, counts));
  }

 private:
  absl::StatusOr<std::unique_ptr<Tokenizer>> MakeTokenizer(Io& io) const {
    if (tokenizer_ == "byte") return MakeByteTokenizer();
    if (!model_.has_value()) {
      return absl::InvalidArgumentError(
          "which tokenizer? Give the folder of a model (--model FOLDER) or --tokenizer byte");
    }
    ASSIGN_OR_RETURN(ModelTokenizer model, LoadTokenizer(io, *model_));
    return std::move(model.tokenizer);
  }

  // Calls on_piece(text, options) for the pieces in which a file is encoded, so that its size does
  // not matter.
  template <typename OnPiece>
  static absl::Status VisitPieces(SequentialReader& reader, OnPiece on_piece) {
    EncodeOptions options;
    while (true) {
      ASSIGN_OR_RETURN(const std::string_view rest, reader.Peek(kPieceBytes + 1));
      if (rest.empty()) return absl::OkStatus();
      const std::string_view piece = rest.substr(0, PieceLength(rest, kPieceBytes));
      RETURN_IF_ERROR(on_piece(piece, options));
      options.position = TextPosition::kContinues;
      reader.Skip(piece.size());
    }
  }

  absl::Status WriteIds(const Tokenizer& tokenizer, SequentialReader& reader,
                        Output& output) const {
    std::vector<int32_t> ids;
    std::string text = json_ ? "[" : "";
    std::string_view between;
    const auto write = [&](std::string_view piece, const EncodeOptions& options) {
      ids.clear();
      RETURN_IF_ERROR(tokenizer.Encode(piece, options, ids));
      for (const int32_t id : ids) {
        text += StrCat(between, id);
        between = json_ ? "," : " ";
      }
      absl::Status status = output.Write(text);
      text.clear();
      return status;
    };
    RETURN_IF_ERROR(VisitPieces(reader, write));
    return output.Write(text + (json_ ? "]\n" : "\n"));
  }

  absl::StatusOr<Counts> Count(const Tokenizer& tokenizer, SequentialReader& reader,
                               Clock& clock) const {
    Counts counts;
    absl::flat_hash_set<int32_t> used;
    bool in_word = false;
    Nanoseconds spent{};
    std::vector<int32_t> ids;
    const auto count = [&](std::string_view piece, const EncodeOptions& options) {
      CountText(piece, in_word, counts);
      ids.clear();
      const Nanoseconds begin = clock.Now();
      RETURN_IF_ERROR(tokenizer.Encode(piece, options, ids));
      spent += clock.Now() - begin;
      counts.tokens += ids.size();
      used.insert(ids.begin(), ids.end());
      const size_t wanted = static_cast<size_t>(sample_) - counts.sample.size();
      counts.sample.insert(counts.sample.end(), ids.begin(),
                           ids.begin() + static_cast<std::ptrdiff_t>(std::min(wanted, ids.size())));
      return absl::OkStatus();
    };
    RETURN_IF_ERROR(VisitPieces(reader, count));
    counts.distinct = used.size();
    counts.seconds = ToSeconds(spent);
    return counts;
  }

  static double ToSeconds(Nanoseconds time) { return static_cast<double>(time.count()) / 1e9; }

  std::string Text(const Tokenizer& tokenizer, const Counts& counts) const {
    const auto bytes = static_cast<double>(counts.bytes);
    const auto tokens = static_cast<double>(counts.tokens);
    std::string text =
        StrCat(file_, ": ", counts.tokens, " tokens\n  ", counts.bytes, " bytes, ",
               counts.characters, " characters, ", counts.words, " words, ", counts.lines,
               " lines\n  ", Rounded(Ratio(bytes, tokens)), " bytes a token, ",
               Rounded(Ratio(tokens, static_cast<double>(counts.words))), " tokens a word\n  ",
               counts.distinct, " different tokens, ",
               Rounded(100 * Ratio(static_cast<double>(counts.distinct),
                                   static_cast<double>(tokenizer.id_limit()))),
               "% of the vocabulary of ", tokenizer.id_limit(), "\n  ", Rounded(counts.seconds),
               " s to encode, ", Rounded(Ratio(bytes / 1e6, counts.seconds)), " MB/s\n");
    if (counts.sample.empty()) return text;
    text += StrCat("the first ", counts.sample.size(), " tokens:\n  ids  ");
    for (const int32_t id : counts.sample) text += StrCat(" ", id);
    text += "\n  text  |";
    TextStream stream(tokenizer);
    for (const int32_t id : counts.sample) {
      const std::string piece =
          tokenizer.IsSpecial(id) ? std::string(tokenizer.TokenOf(id)) : stream.Push(id);
      // Without the quotes: a bar is the border.
      const std::string quoted = Quoted(piece);
      text += StrCat(std::string_view(quoted).substr(1, quoted.size() - 2), "|");
    }
    return text + "\n";
  }

  std::string Json(const Tokenizer& tokenizer, const Counts& counts) const {
    JsonWriter json;
    json.BeginObject().Key("file").String(file_).Key("tokens").Unsigned(counts.tokens);
    json.Key("bytes").Unsigned(counts.bytes).Key("characters").Unsigned(counts.characters);
    json.Key("words").Unsigned(counts.words).Key("lines").Unsigned(counts.lines);
    json.Key("distinct_tokens").Unsigned(counts.distinct);
    json.Key("vocabulary").Integer(tokenizer.id_limit());
    json.Key("seconds").Number(counts.seconds).Key("sample").BeginArray();
    for (const int32_t id : counts.sample) {
      json.BeginObject().Key("id").Integer(id).Key("token");
      // A byte alone need not be UTF-8, which JSON must be.
      const std::vector<int32_t> alone = {id};
      json.String(id < 256 && tokenizer.TokenOf(id).size() == 1
                      ? tokenizer.Decode(alone, Tokenizer::SpecialTokens::kSpell)
                      : std::string(tokenizer.TokenOf(id)));
      json.EndObject();
    }
    json.EndArray().EndObject();
    return std::move(json).Finish();
  }

  std::optional<std::string> model_;
  std::string tokenizer_ = "model";
  int64_t sample_ = 20;
  std::string file_;
  bool ids_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeTokenizeCommand() { return std::make_unique<TokenizeCommand>(); }

}  // namespace horizon
