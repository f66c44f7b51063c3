#include "runtime/data/records/sequential_reader.h"

#include <span>
#include <utility>

#include "common/check.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {

absl::StatusOr<SequentialReader> SequentialReader::Open(Io& io, const std::string& path,
                                                        Bytes read_bytes) {
  CHECK(read_bytes >= 1_B);
  SequentialReader reader;
  reader.path_ = path;
  reader.read_bytes_ = read_bytes;
  ASSIGN_OR_RETURN(reader.file_, io.Open(path, OpenMode::kRead));
  ASSIGN_OR_RETURN(const FileInfo info, reader.file_->Info());
  reader.size_ = info.size.value();
  return reader;
}

absl::StatusOr<std::string_view> SequentialReader::Peek(size_t wanted) {
  while (held_.size() - used_ < wanted && !at_end_) {
    held_.erase(0, used_);
    used_ = 0;
    const size_t before = held_.size();
    held_.resize(before + read_bytes_.value());
    auto rest = std::as_writable_bytes(std::span(held_).subspan(before));
    absl::StatusOr<size_t> count = file_->ReadAt(read_, rest);
    held_.resize(before + (count.ok() ? *count : 0));
    RETURN_IF_ERROR(count.status());
    hash_.Add(std::string_view(held_).substr(before));
    read_ += *count;
    at_end_ = *count < rest.size();
    if (at_end_ && read_ < size_) {
      return absl::DataLossError(StrCat("cannot read '", path_, "': it shrank from ", size_, " to ",
                                        read_, " bytes meanwhile; is something writing it?"));
    }
  }
  return std::string_view(held_).substr(used_);
}

void SequentialReader::Skip(size_t count) {
  CHECK(count <= held_.size() - used_);
  used_ += count;
  taken_ += count;
}

}  // namespace horizon
