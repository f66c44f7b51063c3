#pragma once

#include <initializer_list>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "schedule/schedule.h"

namespace horizon {

// One operation at a time as the verifier questions it: what it reads, writes and moves. Questions
// answered wrongly become a problem; the first one is the verdict.
class OperationView {
 public:
  OperationView(const Schedule& schedule, const Phase& phase)
      : schedule_(schedule), phase_(phase) {}

  void SetOperation(const Operation& operation);
  // OK, or Internal "'operation' does not ...".
  absl::Status Verdict() const;
  void Problem(const std::string& text);

  // An access of this mode to this content, in a buffer of one of these kinds (none given: any).
  // Parts of the content that are -1 match anything. nullptr: there is none.
  using Places = std::initializer_list<BufferKind>;
  const Access* Find(AccessMode mode, Content wanted, Places places = {}) const;
  // The same, and a problem if there is none.
  const Access* Reads(Content wanted, Places places = {});
  const Access* Writes(Content wanted, Places places = {});
  // A problem if the operation moves another number of bytes.
  void Moves(Bytes bytes);
  // A problem if the accessed buffer is smaller than `bytes`. `access` may be nullptr.
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
