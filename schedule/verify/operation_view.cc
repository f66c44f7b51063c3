#include "schedule/verify/operation_view.h"

#include <algorithm>

#include "common/text/str_cat.h"

namespace horizon {

void OperationView::SetOperation(const Operation& operation) {
  op_ = &operation;
  accesses_ = phase_.AccessesOf(operation);
  problem_.clear();
}

absl::Status OperationView::Verdict() const {
  if (problem_.empty()) return absl::OkStatus();
  return absl::InternalError(StrCat("'", schedule_.NameOf(*op_), "' ", problem_));
}

void OperationView::Problem(const std::string& text) {
  if (problem_.empty()) problem_ = text;
}

const Access* OperationView::Find(AccessMode mode, Content wanted, Places places) const {
  const auto matches = [](int32_t want, int32_t found) { return want < 0 || want == found; };
  for (const Access& access : accesses_) {
    const Content& found = access.content;
    if (access.mode != mode || found.kind != wanted.kind || !matches(wanted.a, found.a) ||
        !matches(wanted.b, found.b) || !matches(wanted.n, found.n)) {
      continue;
    }
    const BufferKind kind = schedule_.memory.buffers[access.buffer].kind;
    if (places.size() == 0 || std::find(places.begin(), places.end(), kind) != places.end()) {
      return &access;
    }
  }
  return nullptr;
}

const Access* OperationView::Demand(AccessMode mode, Content wanted, Places places) {
  const Access* found = Find(mode, wanted, places);
  if (found != nullptr) return found;
  std::string where;
  for (const BufferKind kind : places) {
    where += StrCat(where.empty() ? " in " : " or ", ToString(kind));
  }
  Problem(StrCat(mode == AccessMode::kRead ? "does not read " : "does not write ",
                 schedule_.NameOf(wanted), where));
  return nullptr;
}

const Access* OperationView::Reads(Content wanted, Places places) {
  return Demand(AccessMode::kRead, wanted, places);
}

const Access* OperationView::Writes(Content wanted, Places places) {
  return Demand(AccessMode::kWrite, wanted, places);
}

void OperationView::Moves(Bytes bytes) {
  if (op_->bytes == bytes) return;
  std::string into;
  for (const Access& access : accesses_) {
    if (access.mode == AccessMode::kWrite && into.empty()) {
      into = StrCat(" into ", schedule_.NameOf(schedule_.memory.buffers[access.buffer]));
    }
  }
  Problem(
      StrCat("moves ", op_->bytes.value(), " bytes", into, ", but ", bytes.value(), " are due"));
}

void OperationView::Fits(const Access* access, Bytes bytes) {
  if (access == nullptr) return;
  const Buffer& buffer = schedule_.memory.buffers[access->buffer];
  if (buffer.bytes >= bytes) return;
  Problem(StrCat("needs ", bytes.value(), " bytes in ", schedule_.NameOf(buffer), ", which has ",
                 buffer.bytes.value()));
}

}  // namespace horizon
