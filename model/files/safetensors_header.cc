#include "model/files/safetensors_header.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <tuple>

#include "absl/status/status.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

using HashedIndex = std::vector<std::pair<size_t, uint32_t>>;

// (hash, position) of `count` names, sorted by hash and then by name: names made to collide cost
// a comparison of their text each, not a quadratic search.
template <typename NameOf>
HashedIndex IndexNames(size_t count, const NameOf& name_of) {
  HashedIndex index;
  index.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    index.emplace_back(std::hash<std::string_view>()(name_of(i)), static_cast<uint32_t>(i));
  }
  std::sort(index.begin(), index.end(), [&](const auto& a, const auto& b) {
    if (a.first != b.first) return a.first < b.first;
    return name_of(a.second) < name_of(b.second);
  });
  return index;
}

// The position of a name that stands twice, or nullopt.
template <typename NameOf>
std::optional<size_t> FindDuplicate(const HashedIndex& index, const NameOf& name_of) {
  const auto twin =
      std::adjacent_find(index.begin(), index.end(), [&](const auto& a, const auto& b) {
        return a.first == b.first && name_of(a.second) == name_of(b.second);
      });
  if (twin == index.end()) return std::nullopt;
  return twin->second;
}

// Rule 6: in order, each tensor begins where the one before ended, and the last ends with the file.
absl::Status CheckTiling(std::string_view file, const std::vector<TensorEntry>& tensors,
                         Bytes data_bytes) {
  uint64_t covered = 0;
  for (const TensorEntry& tensor : tensors) {
    if (tensor.begin != covered) {
      return CorruptSafetensors(
          file, StrCat("tensor ", Quoted(tensor.name), ": its bytes begin at ", tensor.begin,
                       tensor.begin < covered ? " and overlap" : ", a hole",
                       " after the tensor that ends at ", covered));
    }
    covered = tensor.end;
  }
  if (covered == data_bytes.value()) return absl::OkStatus();
  return CorruptSafetensors(file,
                            StrCat("its tensors end at byte ", covered, " of ", data_bytes.value(),
                                   " bytes of data; the rest belongs to none"));
}

}  // namespace

const TensorEntry* SafetensorsHeader::Find(std::string_view name) const {
  const size_t hash = std::hash<std::string_view>()(name);
  const auto found = std::lower_bound(by_name_.begin(), by_name_.end(), hash,
                                      [&](const auto& entry, size_t wanted) {
                                        if (entry.first != wanted) return entry.first < wanted;
                                        return std::string_view(tensors_[entry.second].name) < name;
                                      });
  if (found == by_name_.end() || found->first != hash) return nullptr;
  const TensorEntry& tensor = tensors_[found->second];
  return tensor.name == name ? &tensor : nullptr;
}

absl::StatusOr<Bytes> DecodeHeaderLength(std::string_view file,
                                         std::span<const std::byte> first_bytes, Bytes file_bytes,
                                         Bytes limit) {
  if (file_bytes.value() < kSafetensorsPrefixBytes ||
      first_bytes.size() < kSafetensorsPrefixBytes) {
    return CorruptSafetensors(
        file, StrCat("it has ", std::min<uint64_t>(file_bytes.value(), first_bytes.size()),
                     " bytes, fewer than the 8 that hold the header's length"));
  }
  uint64_t length = 0;
  for (size_t i = kSafetensorsPrefixBytes; i-- > 0;) {
    length = length << 8 | std::to_integer<uint64_t>(first_bytes[i]);
  }
  if (length == 0) return CorruptSafetensors(file, "its header is empty");
  if (length > limit.value()) {
    return CorruptSafetensors(file, StrCat("its header is stated as ", length,
                                           " bytes, more than the ", limit.value(), " allowed"));
  }
  const uint64_t behind_prefix = file_bytes.value() - kSafetensorsPrefixBytes;
  if (length > behind_prefix) {
    return CorruptSafetensors(file, StrCat("its header is stated as ", length, " bytes, but only ",
                                           behind_prefix, " follow; is it truncated?"));
  }
  return Bytes(length);
}

absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(std::string_view file,
                                                         std::string_view text, Bytes data_bytes) {
  ASSIGN_OR_RETURN(SafetensorsEntries entries, ReadSafetensorsEntries(file, text, data_bytes));
  SafetensorsHeader header;
  header.metadata_ = std::move(entries.metadata);
  const auto key_of = [&](size_t i) { return std::string_view(header.metadata_[i].first); };
  if (const auto twin = FindDuplicate(IndexNames(header.metadata_.size(), key_of), key_of)) {
    return CorruptSafetensors(file,
                              StrCat("__metadata__ has the key ", Quoted(key_of(*twin)), " twice"));
  }

  header.tensors_ = std::move(entries.tensors);
  std::sort(header.tensors_.begin(), header.tensors_.end(),
            [](const TensorEntry& a, const TensorEntry& b) {
              return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
            });
  const auto name_of = [&](size_t i) { return std::string_view(header.tensors_[i].name); };
  header.by_name_ = IndexNames(header.tensors_.size(), name_of);
  if (const auto twin = FindDuplicate(header.by_name_, name_of)) {
    return CorruptSafetensors(file, StrCat("duplicate tensor ", Quoted(name_of(*twin))));
  }
  RETURN_IF_ERROR(CheckTiling(file, header.tensors_, data_bytes));
  return header;
}

}  // namespace horizon
