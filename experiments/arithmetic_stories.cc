#include "experiments/arithmetic_stories.h"

#include <cstddef>
#include <span>
#include <utility>

#include "common/check.h"
#include "common/documents/json.h"
#include "common/philox.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

struct Person {
  std::string_view name;
  std::string_view pronoun;
};
constexpr Person kPeople[] = {{"Mia", "She"},   {"Noah", "He"},  {"Lena", "She"},  {"Omar", "He"},
                              {"Yuki", "She"},  {"Pavel", "He"}, {"Amara", "She"}, {"Jonas", "He"},
                              {"Rosa", "She"},  {"Tariq", "He"}, {"Ines", "She"},  {"Kofi", "He"},
                              {"Greta", "She"}, {"Mateo", "He"}, {"Priya", "She"}, {"Anton", "He"},
                              {"Zoe", "She"},   {"Hugo", "He"},  {"Leila", "She"}, {"Viktor", "He"},
                              {"Sofia", "She"}, {"Emil", "He"},  {"Nora", "She"},  {"Bruno", "He"}};

struct Thing {
  std::string_view one;
  std::string_view many;
};
constexpr Thing kThings[] = {
    {"apple", "apples"},   {"marble", "marbles"},     {"stamp", "stamps"},
    {"pencil", "pencils"}, {"shell", "shells"},       {"button", "buttons"},
    {"coin", "coins"},     {"postcard", "postcards"}, {"pear", "pears"},
    {"ribbon", "ribbons"}, {"sticker", "stickers"},   {"walnut", "walnuts"},
    {"candle", "candles"}, {"badge", "badges"},       {"pebble", "pebbles"},
    {"ticket", "tickets"}, {"plum", "plums"},         {"bead", "beads"},
    {"leaf", "leaves"},    {"book", "books"},         {"feather", "feathers"},
    {"key", "keys"},       {"brush", "brushes"},      {"cherry", "cherries"}};

constexpr std::string_view kGains[] = {"finds", "buys", "wins", "receives", "is given", "collects"};
constexpr std::string_view kLosses[] = {"gives away", "loses", "sells", "trades away", "drops"};
struct Holder {
  std::string_view many;
  std::string_view one;
};
constexpr Holder kHolders[] = {{"boxes", "box"}, {"bags", "bag"},   {"jars", "jar"},
                               {"tins", "tin"},  {"trays", "tray"}, {"baskets", "basket"}};
constexpr std::string_view kDays[] = {"On Monday",   "In the morning", "At school",
                                      "After lunch", "In the garden",  "At the market"};

// The random choices of one problem, in the order they are asked for.
class Dice {
 public:
  Dice(uint64_t seed, uint64_t number) : key_(PhiloxKeyOf(seed)), number_(number) {}

  int64_t Between(int64_t first, int64_t last) {
    if (used_ == block_.size()) {
      block_ = Philox(key_, PhiloxCounterOf(next_block_++, number_));
      used_ = 0;
    }
    return first + static_cast<int64_t>(block_[used_++] % static_cast<uint64_t>(last - first + 1));
  }
  template <typename T, size_t N>
  const T& Of(const T (&choices)[N]) {
    return choices[static_cast<size_t>(Between(0, N - 1))];
  }

 private:
  PhiloxKey key_;
  uint64_t number_;
  uint64_t next_block_ = 0;
  PhiloxBlock block_{};
  size_t used_ = 4;
};

std::string Count(int64_t count, const Thing& thing) {
  return StrCat(count, " ", count == 1 ? thing.one : thing.many);
}

// A story so far: who, what, how many now, and the sums that led there.
struct Story {
  Person person;
  Thing thing;
  std::string_view subject;  // how the next sentence calls the person
  int64_t count = 0;
  std::string text;
  std::string sums;

  void Step(std::string_view sign, int64_t by, int64_t after) {
    sums += StrCat(sums.empty() ? "" : ", ", count, " ", sign, " ", by, " = ", after);
    count = after;
  }
};

// `ways` of saying it, of three.
void BeginWith(Dice& dice, int64_t least, int64_t most, int64_t ways, Story& story) {
  story.count = dice.Between(least, most);
  const std::string_view name = story.person.name;
  const std::string things = Count(story.count, story.thing);
  switch (dice.Between(0, ways - 1)) {
    case 0:
      story.text = StrCat(name, " has ", things, ".");
      break;
    case 1:
      story.text = StrCat(name, " keeps ", things, " on a shelf.");
      break;
    default:
      story.text = StrCat(dice.Of(kDays), " ", name, " counts ", things, ".");
  }
}

void BeginWithHolders(Dice& dice, Story& story) {
  const int64_t holders = dice.Between(2, 12);
  const int64_t each = dice.Between(2, 12);
  const Holder& holder = dice.Of(kHolders);
  story.text = StrCat(story.person.name, " has ", holders, " ", holder.many, ". ");
  story.text += dice.Between(0, 1) == 0
                    ? StrCat("There are ", Count(each, story.thing), " in each ", holder.one, ".")
                    : StrCat("Each ", holder.one, " holds ", Count(each, story.thing), ".");
  story.count = holders;
  story.Step("*", each, holders * each);
}

void Gain(Dice& dice, int64_t most, Story& story) {
  const int64_t by = dice.Between(1, most);
  if (dice.Between(0, 2) == 0) {
    story.text += StrCat(" ", dice.Of(kPeople).name, " brings ", by, " more.");
    story.subject = story.person.name;  // a pronoun could now mean either
  } else {
    story.text += StrCat(" ", story.subject, " ", dice.Of(kGains), " ", by, " more.");
  }
  story.Step("+", by, story.count + by);
}

void Lose(Dice& dice, Story& story) {
  const int64_t by = dice.Between(1, story.count);
  story.text += StrCat(" ", story.subject, " ", dice.Of(kLosses), " ", by, " of them.");
  story.Step("-", by, story.count - by);
}

void Ask(Dice& dice, Story& story) {
  constexpr std::string_view kBefore[] = {"How many ", "What number of "};
  constexpr std::string_view kAfter[] = {" have now?", " have in the end?"};
  const std::string_view before = dice.Of(kBefore);
  const std::string_view after = dice.Of(kAfter);
  story.text += StrCat(" ", before, story.thing.many, " does ", story.person.name, after);
}

// What a level goes up to.
struct Limits {
  int64_t kinds;  // the first of StoryKind
  int64_t ways;   // to begin
  int64_t before_gain;
  int64_t before_loss;
  int64_t gain;
};
Limits LimitsOf(StoryLevel level) {
  switch (level) {
    case StoryLevel::kMixed:
      break;
    case StoryLevel::kSmallSums:
      return {.kinds = 2, .ways = 1, .before_gain = 9, .before_loss = 9, .gain = 9};
  }
  return {.kinds = 4, .ways = 3, .before_gain = 60, .before_loss = 99, .gain = 60};
}

}  // namespace

StoryProblem MakeStoryProblem(uint64_t seed, uint64_t number, StoryLevel level) {
  Dice dice(seed, number);
  const Limits most = LimitsOf(level);
  constexpr StoryKind kKinds[] = {StoryKind::kAdd, StoryKind::kSubtract, StoryKind::kMultiply,
                                  StoryKind::kTwoSteps};
  const StoryKind kind = kKinds[dice.Between(0, most.kinds - 1)];
  Story story = {.person = dice.Of(kPeople), .thing = dice.Of(kThings)};
  story.subject = story.person.pronoun;
  switch (kind) {
    case StoryKind::kAdd:
      BeginWith(dice, 1, most.before_gain, most.ways, story);
      Gain(dice, most.gain, story);
      break;
    case StoryKind::kSubtract:
      BeginWith(dice, 2, most.before_loss, most.ways, story);
      Lose(dice, story);
      break;
    case StoryKind::kMultiply:
      BeginWithHolders(dice, story);
      break;
    case StoryKind::kTwoSteps:
      if (dice.Between(0, 1) == 0) {
        BeginWith(dice, 1, most.before_gain, most.ways, story);
        Gain(dice, most.gain, story);
        Lose(dice, story);
      } else {
        BeginWithHolders(dice, story);
        dice.Between(0, 1) == 0 ? Gain(dice, most.gain, story) : Lose(dice, story);
      }
      break;
  }
  Ask(dice, story);
  return {.kind = kind,
          .question = std::move(story.text),
          .answer = StrCat(story.sums, ". The answer is ", story.count, "."),
          .result = story.count};
}

absl::Status WriteStoryFile(Io& io, const std::string& path, const StoryFile& story_file) {
  CHECK(story_file.problems >= 1);
  return WriteFileAtomically(io, path, [&](File& file) -> absl::Status {
    uint64_t offset = 0;
    for (int64_t i = 0; i < story_file.problems; ++i) {
      const StoryProblem problem = MakeStoryProblem(story_file.seed, static_cast<uint64_t>(i));
      JsonWriter json(JsonWriter::Style::kOneLine);
      json.BeginObject().Key("question").String(problem.question);
      json.Key("answer").String(problem.answer).EndObject();
      const std::string line = std::move(json).Finish() + "\n";
      RETURN_IF_ERROR(file.WriteAt(offset, std::as_bytes(std::span(line))));
      offset += line.size();
    }
    return absl::OkStatus();
  });
}

}  // namespace horizon
