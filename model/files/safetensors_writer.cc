#include "model/files/safetensors_writer.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/checked.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"

namespace horizon {

absl::StatusOr<std::unique_ptr<SafetensorsWriter>> SafetensorsWriter::Create(
    Io& io, const std::string& path, const std::vector<TensorDeclaration>& tensors,
    const SafetensorsWriterOptions& options) {
  ASSIGN_OR_RETURN(SafetensorsLayout layout, LayOutSafetensors(path, tensors, options.metadata));
  auto writer = std::unique_ptr<SafetensorsWriter>(new SafetensorsWriter(io, path));
  writer->data_bytes_ = layout.data_bytes;
  writer->data_start_ = layout.text.size();
  writer->buffer_limit_ = std::max<uint64_t>(1, options.buffer.value());
  writer->header_ = std::move(layout.header);
  writer->written_.resize(writer->header_.tensors().size());

  ASSIGN_OR_RETURN(writer->file_, io.Open(path, OpenMode::kCreateNew));
  RETURN_IF_ERROR(writer->file_->WriteAt(0, std::as_bytes(std::span(layout.text))));
  return writer;
}

SafetensorsWriter::~SafetensorsWriter() { Discard(); }

void SafetensorsWriter::Discard() {
  if (file_ == nullptr) return;
  // The file is incomplete and about to go: neither result could change anything.
  file_->Close().IgnoreError();
  file_.reset();
  io_.Unlink(path_).IgnoreError();
}

absl::Status SafetensorsWriter::Append(std::string_view name, std::span<const std::byte> piece) {
  if (status_.ok()) status_ = AppendUnchecked(name, piece);
  return status_;
}

absl::Status SafetensorsWriter::AppendUnchecked(std::string_view name,
                                                std::span<const std::byte> piece) {
  CHECK(file_ != nullptr);
  const TensorEntry* tensor = header_.Find(name);
  if (tensor == nullptr) {
    return absl::InvalidArgumentError(
        StrCat("tensor ", Quoted(name), " was not declared for '", path_, "'"));
  }
  uint64_t& written = written_[static_cast<size_t>(tensor - header_.tensors().data())];
  if (piece.size() > tensor->bytes().value() - written) {
    return absl::InvalidArgumentError(
        StrCat("tensor ", Quoted(name), " of '", path_, "' was declared with ",
               tensor->bytes().value(), " bytes; ", piece.size(), " more came after ", written));
  }
  const CheckedU64 position = data_start_ + tensor->begin + written;
  RETURN_IF_ERROR(Put(position.value(), piece));
  written += piece.size();
  return absl::OkStatus();
}

absl::Status SafetensorsWriter::Put(uint64_t position, std::span<const std::byte> bytes) {
  const bool continues = position == buffer_position_ + buffer_.size();
  if (!buffer_.empty() && (!continues || bytes.size() > buffer_limit_ - buffer_.size())) {
    RETURN_IF_ERROR(Flush());
  }
  // What fills the buffer by itself goes straight from the caller's memory to the file.
  if (bytes.size() >= buffer_limit_) return file_->WriteAt(position, bytes);
  if (buffer_.empty()) buffer_position_ = position;
  if (buffer_.capacity() == 0) buffer_.reserve(buffer_limit_);
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  return absl::OkStatus();
}

absl::Status SafetensorsWriter::Flush() {
  if (buffer_.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(file_->WriteAt(buffer_position_, buffer_));
  buffer_.clear();
  return absl::OkStatus();
}

absl::Status SafetensorsWriter::CheckComplete() const {
  for (size_t i = 0; i < written_.size(); ++i) {
    const TensorEntry& tensor = header_.tensors()[i];
    if (written_[i] == tensor.bytes().value()) continue;
    return absl::FailedPreconditionError(
        StrCat("tensor ", Quoted(tensor.name), " of '", path_, "' got ", written_[i], " of its ",
               tensor.bytes().value(), " bytes; the file is not kept"));
  }
  return absl::OkStatus();
}

absl::Status SafetensorsWriter::Finish() {
  if (status_.ok() && file_ == nullptr) {
    status_ = absl::FailedPreconditionError(StrCat("'", path_, "' was finished before"));
    return status_;
  }
  if (status_.ok()) status_ = CheckComplete();
  if (status_.ok()) status_ = Flush();
  if (status_.ok()) status_ = file_->Sync();
  if (!status_.ok()) {
    Discard();
    return status_;
  }
  status_ = file_->Close();
  file_.reset();
  if (!status_.ok()) io_.Unlink(path_).IgnoreError();
  return status_;
}

}  // namespace horizon
