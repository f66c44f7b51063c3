#include "model/files/safetensors_reader.h"

#include <array>
#include <utility>

#include "common/check.h"
#include "common/checked.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

absl::Status Shrunk(const std::string& path, uint64_t offset, size_t wanted, size_t got) {
  return absl::DataLossError(StrCat("'", path, "' became shorter while being read: ", wanted,
                                    " bytes wanted at byte ", offset, ", ", got,
                                    " found; is something writing it?"));
}

// Reads exactly into.size() bytes.
absl::Status ReadFully(File& file, const std::string& path, uint64_t offset,
                       std::span<std::byte> into) {
  ASSIGN_OR_RETURN(const size_t got, file.ReadAt(offset, into));
  return got == into.size() ? absl::OkStatus() : Shrunk(path, offset, into.size(), got);
}

}  // namespace

absl::StatusOr<SafetensorsReader> SafetensorsReader::Open(Io& io, const std::string& path,
                                                          Bytes header_limit) {
  SafetensorsReader reader;
  reader.path_ = path;
  ASSIGN_OR_RETURN(reader.file_, io.Open(path, OpenMode::kRead));
  ASSIGN_OR_RETURN(const FileInfo info, reader.file_->Info());
  if (info.kind != FileKind::kRegular) {
    return absl::InvalidArgumentError(
        StrCat("cannot read '", path, "' as safetensors: it is not a regular file"));
  }
  std::array<std::byte, kSafetensorsPrefixBytes> prefix;
  ASSIGN_OR_RETURN(const size_t prefix_bytes, reader.file_->ReadAt(0, prefix));
  ASSIGN_OR_RETURN(
      reader.header_bytes_,
      DecodeHeaderLength(path, std::span(prefix).first(prefix_bytes), info.size, header_limit));

  std::string text(reader.header_bytes_.value(), '\0');
  RETURN_IF_ERROR(ReadFully(*reader.file_, path, kSafetensorsPrefixBytes,
                            std::as_writable_bytes(std::span(text))));
  const Bytes data_bytes = info.size - Bytes(kSafetensorsPrefixBytes) - reader.header_bytes_;
  CHECK(data_bytes.ok());
  ASSIGN_OR_RETURN(reader.header_, ParseSafetensorsHeader(path, text, data_bytes));
  return reader;
}

absl::StatusOr<const TensorEntry*> SafetensorsReader::FindTensor(std::string_view name) const {
  const TensorEntry* tensor = header_.Find(name);
  if (tensor != nullptr) return tensor;
  return absl::NotFoundError(StrCat("'", path_, "' has no tensor ", Quoted(name)));
}

absl::Status SafetensorsReader::ReadTensor(std::string_view name, std::span<std::byte> into) const {
  ASSIGN_OR_RETURN(const TensorEntry* tensor, FindTensor(name));
  if (Bytes(into.size()) != tensor->bytes()) {
    return absl::InvalidArgumentError(StrCat("tensor ", Quoted(name), " of '", path_, "' has ",
                                             tensor->bytes().value(),
                                             " bytes; it was to be read into ", into.size()));
  }
  return ReadRange(name, 0, into);
}

absl::Status SafetensorsReader::ReadRange(std::string_view name, uint64_t offset,
                                          std::span<std::byte> into) const {
  ASSIGN_OR_RETURN(const TensorEntry* tensor, FindTensor(name));
  const CheckedU64 end = CheckedU64(offset) + into.size();
  if (!end.ok() || end > tensor->bytes().count()) {
    return absl::InvalidArgumentError(StrCat(into.size(), " bytes at byte ", offset,
                                             " were to be read of tensor ", Quoted(name), " of '",
                                             path_, "', which has ", tensor->bytes().value()));
  }
  if (into.empty()) return absl::OkStatus();
  const CheckedU64 position =
      CheckedU64(kSafetensorsPrefixBytes) + header_bytes_.count() + tensor->begin + offset;
  CHECK(position.ok());
  absl::Status status = ReadFully(*file_, path_, position.value(), into);
  if (!absl::IsDataLoss(status)) return status;
  return absl::DataLossError(StrCat("tensor ", Quoted(name), ": ", status.message()));
}

}  // namespace horizon
