#pragma once

#include <initializer_list>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "schedule/schedule.h"

namespace horizon {

// Checks on one operation at a time: what it reads, writes and moves. A check that fails records a
// problem; Verdict() returns the first one.
class OperationView {
 public:
  OperationView(const Schedule& schedule, const Phase& phase)
      : schedule_(schedule), phase_(phase) {}

  void SetOperation(const Operation& operation);
  // OK, or Internal with the first problem: "'operation' does not ...".
  absl::Status Verdict() const;
  void Problem(const std::string& text);  // records a problem

  // Finds an access of this mode to this content, in a buffer of one of these kinds (of any kind if
  // none is given). Members of the content that are -1 match anything. nullptr where there is none.
  using Places = std::initializer_list<BufferKind>;
  const Access* Find(AccessMode mode, Content wanted, Places places = {}) const;
  // The same for a read or a write; records a problem where there is none.
  const Access* Reads(Content wanted, Places places = {});
  const Access* Writes(Content wanted, Places places = {});
  // Records a problem if the operation moves another number of bytes.
  void Moves(Bytes bytes);
  // Records a problem if the accessed buffer is smaller than `bytes`. `access` may be nullptr.
  void Fits(const Access* access, Bytes bytes);

 protected:
  const Schedule& schedule_;
  const Phase& phase_;
  const Operation* op_ = nullptr;
  std::span<const Access> accesses_;

 private:
  const Access* Demand(AccessMode mode, Content wanted, Places places);
  std::string problem_;
};

}  // namespace horizon
