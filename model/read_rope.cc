#include "model/read_rope.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr std::string_view kOriginalPositions = "original_max_position_embeddings";
constexpr std::string_view kPartialFactor = "partial_rotary_factor";
constexpr std::string_view kQueryScaleBeta = "llama_4_scaling_beta";
// Keys of the usual kinds.
constexpr std::string_view kKnownSettings[] = {
    "type",      "rope_type",       "factor",           "low_freq_factor", "high_freq_factor",
    "beta_fast", "beta_slow",       "attention_factor", "mscale",          "mscale_all_dim",
    "truncate",  kOriginalPositions};

// Settings under a key, or nullptr where they are missing, null or empty.
const Value* SettingsAt(ConfigFields& fields, std::string_view key) {
  const Value* value = fields.Take(key);
  if (value == nullptr || value->is_null()) return nullptr;
  const auto* members = value->As<Value::Object>();
  return members != nullptr && members->empty() ? nullptr : value;
}

// Settings for each kind of layer are read by ReadLayerTypeRopes, for the families that have them.
void RefuseNested(ConfigFields& settings, const Value& value) {
  const auto* members = value.As<Value::Object>();
  if (members == nullptr) return;
  for (const auto& [key, member] : *members) {
    if (member.As<Value::Object>() == nullptr) continue;
    settings.Fail(key, "rotary settings for each layer type are not supported");
  }
}

std::string ListOf(std::span<const RopeKind> kinds) {
  std::string list;
  for (size_t i = 0; i < kinds.size(); ++i) {
    const std::string_view before = i == 0 ? "" : (i + 1 == kinds.size() ? " and " : ", ");
    list += StrCat(before, ToString(kinds[i]));
  }
  return list;
}

// The settings of one object, read for one kind of layer.
class SettingsReader {
 public:
  SettingsReader(const RopeContext& context, const RopeRules& rules, const Value& value,
                 std::string path)
      : context_(context),
        rules_(rules),
        value_(value),
        settings_(context.document, value, std::move(path)) {}

  ConfigFields& settings() { return settings_; }

  absl::StatusOr<RopeSpec> Read(double theta) {
    RefuseNested(settings_, value_);
    rope_.kind = ReadKind();
    rope_.theta = settings_.Has("rope_theta") ? settings_.Positive("rope_theta", theta) : theta;
    ReadPartial();
    if (rope_.kind == RopeKind::kLinear) {
      RequireKey("factor");
      rope_.factor = settings_.Positive("factor", 1.0);
    }
    if (rope_.kind != RopeKind::kDefault && rope_.kind != RopeKind::kLinear) {
      rope_.original_max_positions = OriginalPositions();
    }
    if (rope_.kind == RopeKind::kLlama3) ReadLlama3();
    if (rope_.kind == RopeKind::kYarn) ReadYarn();
    if (rope_.kind == RopeKind::kLongrope) ReadLongrope();
    if (settings_.ok() && rope_.factor < 1) {
      settings_.Fail("factor", StrCat("is ", rope_.factor, "; it must be at least 1"));
    }
    if (rules_.query_scale) ReadQueryScale();
    RefuseUnknown();
    RETURN_IF_ERROR(settings_.status());
    return rope_;
  }

 private:
  RopeKind ReadKind() {
    const std::string_view key = settings_.Has("rope_type") ? "rope_type" : "type";
    const std::string word = settings_.Has(key) ? settings_.Text(key, "default") : "default";
    if (rules_.old_longrope_words && (word == "su" || word == "yarn")) return RopeKind::kLongrope;
    for (const RopeKind kind : rules_.kinds) {
      if (word == ToString(kind)) return kind;
    }
    settings_.Refuse(key, StrCat("known kinds are ", ListOf(rules_.kinds)));
    return RopeKind::kDefault;
  }

  void RequireKey(std::string_view key) {
    if (settings_.Take(key) == nullptr) {
      settings_.Fail(key, StrCat("required for the kind ", ToString(rope_.kind), " and missing"));
    }
  }

  void ReadPartial();

  // Where the model was trained before its context was stretched. A key beside the settings goes
  // before one inside, as in transformers.
  int64_t OriginalPositions() {
    const int64_t missing =
        rules_.original_positions == 0 ? context_.max_positions : rules_.original_positions;
    const int64_t inside =
        settings_.Has(kOriginalPositions) ? settings_.Size(kOriginalPositions, missing) : missing;
    if (context_.fields.Has(kOriginalPositions)) {
      return context_.fields.Size(kOriginalPositions, inside);
    }
    // A class with a default of its own never looks inside.
    if (settings_.ok() && rules_.original_positions != 0 && inside != missing) {
      settings_.Refuse(
          kOriginalPositions,
          StrCat("it counts beside the rotary settings, where it is missing and means ", missing));
    }
    return inside;
  }

  double RatioOfContexts() const {
    return static_cast<double>(context_.max_positions) /
           static_cast<double>(rope_.original_max_positions);
  }

  void ReadLlama3() {
    for (std::string_view key : {"factor", "low_freq_factor", "high_freq_factor"}) RequireKey(key);
    rope_.factor = settings_.Positive("factor", 1.0);
    rope_.low_frequency_factor = settings_.Positive("low_freq_factor", 1.0);
    rope_.high_frequency_factor = settings_.Positive("high_freq_factor", 4.0);
    if (settings_.ok() && rope_.high_frequency_factor <= rope_.low_frequency_factor) {
      settings_.Fail("high_freq_factor", StrCat("is ", rope_.high_frequency_factor,
                                                "; it must be above low_freq_factor (",
                                                rope_.low_frequency_factor, ")"));
    }
  }

  void ReadYarn() {
    RequireKey("factor");
    rope_.factor = settings_.Has("factor") ? settings_.Positive("factor", 1.0) : RatioOfContexts();
    ReadAttentionFactor();
    rope_.mscale = settings_.AtLeastZero("mscale", 0.0);
    rope_.mscale_all_dim = settings_.AtLeastZero("mscale_all_dim", 0.0);
    // transformers takes 0 like a missing value here.
    const double fast = settings_.AtLeastZero("beta_fast", 0.0);
    const double slow = settings_.AtLeastZero("beta_slow", 0.0);
    rope_.beta_fast = fast == 0 ? 32.0 : fast;
    rope_.beta_slow = slow == 0 ? 1.0 : slow;
    if (settings_.ok() && rope_.beta_fast <= rope_.beta_slow) {
      settings_.Fail("beta_fast", StrCat("is ", rope_.beta_fast, "; it must be above beta_slow (",
                                         rope_.beta_slow, ")"));
    }
    rope_.truncate = settings_.Flag("truncate", true);
  }

  void ReadAttentionFactor() {
    if (settings_.Has("attention_factor")) {
      rope_.attention_factor = settings_.Positive("attention_factor", 1.0);
    }
  }

  void ReadLongrope() {
    rope_.short_factors = ReadFactors("short_factor");
    rope_.long_factors = ReadFactors("long_factor");
    ReadAttentionFactor();
    // A ratio below 1 scales cosines and sines by 1, as a ratio of 1 does.
    rope_.factor = settings_.Has("factor") ? settings_.Positive("factor", 1.0)
                                           : std::max(RatioOfContexts(), 1.0);
    if (settings_.ok() && rope_.original_max_positions < 2) {
      settings_.Fail(kOriginalPositions, "is 1; longrope needs at least 2");
    }
  }

  std::vector<double> ReadFactors(std::string_view key) {
    RequireKey(key);
    std::vector<double> factors = settings_.PositiveNumbers(key);
    const int64_t rotated = rope_.rotary_dim == 0 ? context_.head_dim : rope_.rotary_dim;
    if (settings_.ok() && static_cast<int64_t>(factors.size()) != rotated / 2) {
      settings_.Fail(key, StrCat("has ", factors.size(), " numbers; it must have ", rotated / 2,
                                 ", one for each pair of the ", rotated, " rotated channels"));
    }
    return factors;
  }

  // ministral3. Its class fails without the key, so there is no default to take.
  void ReadQueryScale() {
    if (!settings_.Has(kQueryScaleBeta)) {
      settings_.Fail(kQueryScaleBeta, "required for this family and missing");
    }
    rope_.query_scale_beta = settings_.AtLeastZero(kQueryScaleBeta, 0.0);
    if (rope_.query_scale_beta == 0 || rope_.original_max_positions != 0) return;
    if (!settings_.Has(kOriginalPositions)) {
      settings_.Fail(kOriginalPositions, StrCat("required with ", kQueryScaleBeta, " and missing"));
    }
    rope_.original_max_positions = settings_.Size(kOriginalPositions, 1);
  }

  // Keys another kind uses are harmless; keys nobody knows (mrope_section) may not be.
  void RefuseUnknown() {
    for (std::string_view key : kKnownSettings) settings_.Ignore(key);
    if (rules_.partial) {
      settings_.Ignore("short_factor");
      settings_.Ignore("long_factor");
    }
    // Written by ministral3 beside its own keys, and never read.
    if (rules_.query_scale) settings_.Ignore("max_position_embeddings");
    for (const std::string& key : settings_.UnknownKeys()) {
      settings_.Fail(key, "unknown rotary setting");
    }
  }

  const RopeContext& context_;
  const RopeRules& rules_;
  const Value& value_;
  ConfigFields settings_;
  RopeSpec rope_;
};

// The number of channels that a partial_rotary_factor leaves to be rotated; 0: all.
int64_t PartialDim(ConfigFields& fields, int64_t head_dim) {
  const double factor = fields.Positive(kPartialFactor, 1.0);
  if (!fields.ok()) return 0;
  if (factor > 1) {
    fields.Fail(kPartialFactor, StrCat("is ", factor, "; it must be at most 1"));
    return 0;
  }
  const auto rotated = static_cast<int64_t>(static_cast<double>(head_dim) * factor);
  if (rotated < 2 || rotated % 2 != 0) {
    fields.Fail(kPartialFactor, StrCat("is ", factor, ", which rotates ", rotated, " of ", head_dim,
                                       " channels of a head; it must be an even number of them"));
    return 0;
  }
  return rotated == head_dim ? 0 : rotated;
}

void SettingsReader::ReadPartial() {
  if (!rules_.partial) {
    settings_.RefuseUnless(kPartialFactor, Neutral::kOne);
    return;
  }
  ConfigFields& fields = settings_.Has(kPartialFactor) ? settings_ : context_.fields;
  if (fields.Has(kPartialFactor)) rope_.rotary_dim = PartialDim(fields, context_.head_dim);
}

double ThetaBeside(ConfigFields& fields, std::string_view key, double missing) {
  return fields.Has(key) ? fields.Positive(key, missing) : missing;
}

RopeSpec WithoutSettings(const RopeContext& context, const RopeRules& rules, double theta) {
  RopeSpec rope = rules.missing.value_or(RopeSpec{.theta = theta});
  if (rules.missing_takes_theta) {
    rope.theta = theta;
  } else if (context.fields.Has("rope_theta") && theta != rope.theta) {
    context.fields.Refuse("rope_theta", StrCat("without rope_parameters this family's class takes ",
                                               rope.theta, " whatever stands here"));
  }
  if (rules.partial && context.fields.Has(kPartialFactor)) {
    rope.rotary_dim = PartialDim(context.fields, context.head_dim);
  }
  return rope;
}

// The settings of one layer type under a key of rope_parameters, or those of the full layers under
// rope_scaling; theta alone where there are none.
absl::StatusOr<RopeSpec> ReadOneLayerType(const RopeContext& context, ConfigFields& parent,
                                          std::string_view key, double theta) {
  const Value* value = SettingsAt(parent, key);
  if (value == nullptr) return RopeSpec{.theta = theta};
  const RopeRules rules;
  SettingsReader reader(context, rules, *value, parent.PathOf(key));
  ASSIGN_OR_RETURN(RopeSpec rope, reader.Read(theta));
  // transformers looks for it one level higher, where it is not.
  if (!rope.truncate) {
    reader.settings().Refuse("truncate", "settings of one layer type are always truncated");
  }
  // transformers puts rope_scaling over settings whose rope_type is default, which stays.
  if (key == "rope_scaling" && rope.kind != RopeKind::kDefault &&
      !reader.settings().Has("rope_type")) {
    reader.settings().Refuse("type", "for this family transformers reads rope_type");
  }
  RETURN_IF_ERROR(reader.settings().status());
  return rope;
}

}  // namespace

absl::StatusOr<RopeSpec> ReadRope(const RopeContext& context, const RopeRules& rules) {
  ConfigFields& fields = context.fields;
  if (!rules.partial) fields.RefuseUnless(kPartialFactor, Neutral::kOne);
  const double theta = ThetaBeside(fields, "rope_theta", rules.theta);
  const Value* scaling = SettingsAt(fields, "rope_scaling");
  const Value* parameters = SettingsAt(fields, "rope_parameters");
  fields.Ignore(kOriginalPositions);
  fields.Ignore(kPartialFactor);
  const Value* value = scaling != nullptr ? scaling : parameters;
  if (value == nullptr) return WithoutSettings(context, rules, theta);
  const std::string_view key = scaling != nullptr ? "rope_scaling" : "rope_parameters";
  return SettingsReader(context, rules, *value, fields.PathOf(key)).Read(theta);
}

absl::StatusOr<LayerTypeRopes> ReadLayerTypeRopes(const RopeContext& context,
                                                  const LayerTypeRopeRules& rules) {
  ConfigFields& fields = context.fields;
  fields.RefuseUnless(kPartialFactor, Neutral::kOne);
  // transformers looks for it inside the settings of a layer type only.
  fields.RefuseUnless(kOriginalPositions, Neutral::kNull);
  const double full_theta = ThetaBeside(fields, "rope_theta", rules.full_theta);
  const bool has_key = !rules.sliding_theta_key.empty();
  const double sliding_theta =
      has_key ? ThetaBeside(fields, rules.sliding_theta_key, rules.sliding_theta)
              : rules.sliding_theta;
  const Value* scaling = SettingsAt(fields, "rope_scaling");
  const Value* parameters = SettingsAt(fields, "rope_parameters");
  LayerTypeRopes ropes = {.full = {.theta = full_theta}, .sliding = {.theta = sliding_theta}};
  bool own_theta = has_key;
  if (scaling != nullptr && parameters != nullptr) {
    fields.Fail("rope_scaling", "stands beside rope_parameters; give one of them");
  } else if (scaling != nullptr) {
    ASSIGN_OR_RETURN(ropes.full, ReadOneLayerType(context, fields, "rope_scaling", full_theta));
  } else if (parameters != nullptr) {
    ConfigFields types(context.document, *parameters, fields.PathOf("rope_parameters"));
    ASSIGN_OR_RETURN(ropes.full, ReadOneLayerType(context, types, "full_attention", full_theta));
    ASSIGN_OR_RETURN(ropes.sliding,
                     ReadOneLayerType(context, types, "sliding_attention", sliding_theta));
    const Value* sliding = types.Take("sliding_attention");
    own_theta = own_theta || (sliding != nullptr && sliding->Find("rope_theta") != nullptr);
    for (const std::string& key : types.UnknownKeys()) {
      types.Fail(key,
                 "unknown; rope_parameters of this family has full_attention and "
                 "sliding_attention");
    }
    RETURN_IF_ERROR(types.status());
  }
  if (!own_theta && fields.ok() && full_theta != rules.full_theta) {
    fields.Refuse("rope_theta",
                  StrCat("releases of transformers disagree whether sliding layers take it or ",
                         rules.sliding_theta, "; give rope_parameters for both layer types"));
  }
  return ropes;
}

}  // namespace horizon
