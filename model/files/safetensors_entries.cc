#include "model/files/safetensors_entries.h"

#include <charconv>
#include <optional>
#include <system_error>

#include "common/checked.h"
#include "common/documents/json.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "model/files/dtype.h"

namespace horizon {
namespace {

constexpr int kMaxDepth = 64;
constexpr std::string_view kMetadataKey = "__metadata__";
constexpr uint64_t kBitsPerByte = 8;

// Takes the JSON pieces of a header and builds the list of tensors; anything the format does not
// name stops the parse at once, so that nesting and junk cost nothing.
class HeaderHandler : public JsonHandler {
 public:
  HeaderHandler(std::string_view file, Bytes data_bytes) : file_(file), data_bytes_(data_bytes) {}

  SafetensorsEntries& entries() { return entries_; }

  absl::Status OnBeginObject() override {
    if (place_ == Place::kOutside) {
      place_ = Place::kRoot;
      return absl::OkStatus();
    }
    if (place_ != Place::kRoot) return Unexpected("an object");
    return is_metadata_ ? BeginMetadata() : BeginTensor();
  }

  absl::Status OnEndObject() override {
    if (place_ == Place::kRoot) {
      place_ = Place::kOutside;
      return absl::OkStatus();
    }
    const bool is_tensor = place_ == Place::kTensor;
    place_ = Place::kRoot;
    return is_tensor ? FinishTensor() : absl::OkStatus();
  }

  absl::Status OnBeginArray() override {
    if (place_ != Place::kTensor || field_ == Field::kDtype) return Unexpected("an array");
    place_ = field_ == Field::kShape ? Place::kShape : Place::kOffsets;
    return absl::OkStatus();
  }

  absl::Status OnEndArray() override {
    if (place_ == Place::kShape) tensor_.shape.assign(dims_.begin(), dims_.end());
    if (place_ == Place::kOffsets && offset_count_ != 2) {
      return BadTensor(StrCat("data_offsets needs 2 numbers, found ", offset_count_));
    }
    place_ = Place::kTensor;
    return absl::OkStatus();
  }

  absl::Status OnKey(std::string_view key) override {
    if (place_ == Place::kTensor) return OnField(key);
    if (place_ == Place::kMetadata) {
      entries_.metadata.emplace_back(key, std::string());
      return absl::OkStatus();
    }
    is_metadata_ = key == kMetadataKey;
    if (!is_metadata_) tensor_.name = key;
    return absl::OkStatus();
  }

  absl::Status OnString(std::string_view text) override {
    if (place_ == Place::kMetadata) {
      entries_.metadata.back().second = text;
      return absl::OkStatus();
    }
    if (place_ != Place::kTensor || field_ != Field::kDtype) return Unexpected("a string");
    const std::optional<Dtype> dtype = ParseDtype(text);
    if (!dtype.has_value()) return BadTensor(StrCat("unknown dtype ", Quoted(text)));
    tensor_.dtype = *dtype;
    return absl::OkStatus();
  }

  absl::Status OnNumber(std::string_view literal) override {
    if (place_ != Place::kShape && place_ != Place::kOffsets) return Unexpected("a number");
    const std::optional<int64_t> value = ParseCount(literal);
    if (!value.has_value()) {
      return BadTensor(
          StrCat(FieldName(), " needs whole numbers from 0 to 2^63 - 1, found ", Quoted(literal)));
    }
    return place_ == Place::kShape ? OnDimension(*value) : OnOffset(static_cast<uint64_t>(*value));
  }

  absl::Status OnBool(bool) override { return Unexpected("true or false"); }
  absl::Status OnNull() override { return Unexpected("null"); }

 private:
  enum class Place { kOutside, kRoot, kMetadata, kTensor, kShape, kOffsets };
  enum class Field { kDtype, kShape, kOffsets };

  // Digits only: a sign, a fraction or an exponent is none of ours, even where the value is whole.
  static std::optional<int64_t> ParseCount(std::string_view literal) {
    int64_t value = 0;
    const char* end = literal.data() + literal.size();
    if (literal.empty() || literal.front() == '-') return std::nullopt;
    const std::from_chars_result result = std::from_chars(literal.data(), end, value);
    if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
    return value;
  }

  absl::Status BeginMetadata() {
    if (metadata_seen_) return CorruptSafetensors(file_, "the header has __metadata__ twice");
    metadata_seen_ = true;
    place_ = Place::kMetadata;
    return absl::OkStatus();
  }

  absl::Status BeginTensor() {
    if (entries_.tensors.size() == kMaxSafetensorsTensors) {
      return CorruptSafetensors(file_,
                                StrCat("it has more than ", kMaxSafetensorsTensors, " tensors"));
    }
    place_ = Place::kTensor;
    has_dtype_ = has_shape_ = has_offsets_ = false;
    elements_ = CheckedU64(1);
    offset_count_ = 0;
    dims_.clear();
    return absl::OkStatus();
  }

  absl::Status OnField(std::string_view key) {
    bool* seen = nullptr;
    if (key == "dtype") {
      field_ = Field::kDtype;
      seen = &has_dtype_;
    } else if (key == "shape") {
      field_ = Field::kShape;
      seen = &has_shape_;
    } else if (key == "data_offsets") {
      field_ = Field::kOffsets;
      seen = &has_offsets_;
    } else {
      return BadTensor(StrCat("unknown key ", Quoted(key)));
    }
    if (*seen) return BadTensor(StrCat("duplicate key ", Quoted(key)));
    *seen = true;
    return absl::OkStatus();
  }

  absl::Status OnDimension(int64_t value) {
    elements_ *= CheckedU64::FromSigned(value);
    if (!elements_.ok()) return BadTensor("the number of elements does not fit 64 bits");
    dims_.push_back(value);
    return absl::OkStatus();
  }

  absl::Status OnOffset(uint64_t value) {
    if (offset_count_ == 2) return BadTensor("data_offsets needs 2 numbers, found more");
    (offset_count_ == 0 ? tensor_.begin : tensor_.end) = value;
    ++offset_count_;
    return absl::OkStatus();
  }

  absl::Status FinishTensor() {
    if (!has_dtype_) return BadTensor("dtype is missing");
    if (!has_shape_) return BadTensor("shape is missing");
    if (!has_offsets_) return BadTensor("data_offsets is missing");
    const CheckedU64 bits = elements_ * BitsOf(tensor_.dtype);
    if (!bits.ok()) return BadTensor("the number of bits does not fit 64 bits");
    if (bits.value() % kBitsPerByte != 0) {
      return BadTensor(StrCat(elements_.value(), " elements of ", ToString(tensor_.dtype),
                              " are no whole number of bytes"));
    }
    if (tensor_.begin > tensor_.end) {
      return BadTensor(StrCat("data_offsets run backwards, ", RangeText()));
    }
    if (tensor_.bytes().value() != bits.value() / kBitsPerByte) {
      return BadTensor(StrCat("shape ", ShapeForMessage(tensor_.shape), " of ",
                              ToString(tensor_.dtype), " takes ", bits.value() / kBitsPerByte,
                              " bytes, data_offsets give ", tensor_.bytes().value()));
    }
    if (tensor_.end > data_bytes_.value()) {
      return BadTensor(StrCat("data_offsets ", RangeText(), " lie past the end of the ",
                              data_bytes_.value(), " bytes of data"));
    }
    entries_.tensors.push_back(std::move(tensor_));
    return absl::OkStatus();
  }

  std::string RangeText() const { return StrCat("[", tensor_.begin, ", ", tensor_.end, "]"); }
  std::string_view FieldName() const {
    if (field_ == Field::kDtype) return "dtype";
    return field_ == Field::kShape ? "shape" : "data_offsets";
  }

  absl::Status BadTensor(std::string_view reason) const {
    return CorruptSafetensors(file_, StrCat("tensor ", Quoted(tensor_.name), ": ", reason));
  }

  // What stands where something else was needed.
  absl::Status Unexpected(std::string_view found) const {
    switch (place_) {
      case Place::kOutside:
        return CorruptSafetensors(file_, StrCat("the header needs one object, found ", found));
      case Place::kMetadata:
        return CorruptSafetensors(
            file_, StrCat("__metadata__ needs a string for ",
                          Quoted(entries_.metadata.back().first), ", found ", found));
      case Place::kRoot:
        if (is_metadata_)
          return CorruptSafetensors(file_, StrCat("__metadata__ needs an object, found ", found));
        return BadTensor(StrCat("an object is needed, found ", found));
      default:
        return BadTensor(StrCat(FieldName(), " cannot hold ", found));
    }
  }

  std::string_view file_;
  Bytes data_bytes_;
  SafetensorsEntries entries_;
  Place place_ = Place::kOutside;
  Field field_ = Field::kDtype;
  bool is_metadata_ = false;
  bool metadata_seen_ = false;
  // Of the tensor being read. Dimensions are gathered in a deque, which grows without copying:
  // a legal header may hold one tensor of fifty million dimensions.
  TensorEntry tensor_;
  bool has_dtype_ = false;
  bool has_shape_ = false;
  bool has_offsets_ = false;
  CheckedU64 elements_;
  int offset_count_ = 0;
  std::deque<int64_t> dims_;
};

}  // namespace

absl::StatusOr<SafetensorsEntries> ReadSafetensorsEntries(std::string_view file,
                                                          std::string_view text, Bytes data_bytes) {
  if (text.empty() || text.front() != '{') {
    return CorruptSafetensors(file, "the header does not begin with '{'");
  }
  // JSON would also take tabs and newlines behind the object; the format pads with spaces only.
  const size_t last = text.find_last_not_of(' ');
  if (text[last] != '}') {
    return CorruptSafetensors(file, "the header does not end with '}' and spaces");
  }
  HeaderHandler handler(file, data_bytes);
  absl::Status parsed = ParseJsonEvents(file, text.substr(0, last + 1), kMaxDepth, handler);
  if (absl::IsDataLoss(parsed)) return parsed;
  if (!parsed.ok()) return CorruptSafetensors(file, StrCat(parsed.message()));
  return std::move(handler.entries());
}

absl::Status CorruptSafetensors(std::string_view file, std::string_view reason) {
  return absl::DataLossError(StrCat("'", file, "' is no valid safetensors file: ", reason));
}

}  // namespace horizon
