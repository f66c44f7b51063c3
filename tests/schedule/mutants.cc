#include "tests/schedule/mutants.h"

#include <algorithm>
#include <utility>

namespace horizon {
namespace {

using PhaseMember = Phase Schedule::*;
constexpr PhaseMember kPhases[] = {&Schedule::first, &Schedule::steady, &Schedule::drain};

// Copies the schedule and lets `change` break operation `id` of `phase`; false: does not apply.
using ChangeOperation = std::function<bool(Schedule&, Phase&, Operation&, OperationId)>;

// One mutant for each operation (of each phase) that `change` applies to, at most `most`.
Mutant EachOperation(std::string name, ChangeOperation change, size_t most = 60) {
  return {std::move(name), [change = std::move(change), most](const Schedule& good) {
            std::vector<Schedule> broken;
            for (const PhaseMember member : kPhases) {
              const size_t count = (good.*member).operations.size();
              for (size_t i = 0; i < count && broken.size() < most; ++i) {
                Schedule copy = good;
                Phase& phase = copy.*member;
                if (change(copy, phase, phase.operations[i], static_cast<OperationId>(i))) {
                  broken.push_back(std::move(copy));
                }
              }
            }
            return broken;
          }};
}

Mutant Once(std::string name, std::function<bool(Schedule&)> change) {
  return {std::move(name), [change = std::move(change)](const Schedule& good) {
            std::vector<Schedule> broken = {good};
            if (!change(broken.front())) broken.clear();
            return broken;
          }};
}

Access* FindAccess(Phase& phase, const Operation& op, AccessMode mode, ContentKind kind) {
  for (uint32_t i = op.accesses.begin; i < op.accesses.end; ++i) {
    Access& access = phase.access_pool[i];
    if (access.mode == mode && access.content.kind == kind) return &access;
  }
  return nullptr;
}

Access* FindBuffer(const Schedule& s, Phase& phase, const Operation& op, AccessMode mode,
                   BufferKind kind) {
  for (uint32_t i = op.accesses.begin; i < op.accesses.end; ++i) {
    Access& access = phase.access_pool[i];
    if (access.mode == mode && s.memory.buffers[access.buffer].kind == kind) return &access;
  }
  return nullptr;
}

// Another buffer of the same kind and memory; -1: there is none.
BufferId Sibling(const Schedule& s, BufferId buffer) {
  const Buffer& own = s.memory.buffers[buffer];
  for (size_t b = 0; b < s.memory.buffers.size(); ++b) {
    const Buffer& other = s.memory.buffers[b];
    if (static_cast<BufferId>(b) != buffer && other.kind == own.kind &&
        other.memory == own.memory && other.bytes >= own.bytes) {
      return static_cast<BufferId>(b);
    }
  }
  return -1;
}

Mutant WrongSibling(std::string name, OperationKind kind, AccessMode mode, BufferKind buffer) {
  return EachOperation(std::move(name), [=](Schedule& s, Phase& phase, Operation& op, OperationId) {
    if (op.kind != kind) return false;
    Access* access = FindBuffer(s, phase, op, mode, buffer);
    if (access == nullptr || Sibling(s, access->buffer) < 0) return false;
    access->buffer = Sibling(s, access->buffer);
    return true;
  });
}

Mutant Removed(std::string name, OperationKind kind) {
  return EachOperation(
      std::move(name),
      [kind](Schedule&, Phase& phase, Operation& op, OperationId id) {
        if (op.kind != kind) return false;
        RemoveOperation(phase, id);
        return true;
      },
      12);
}

Mutant DropAccess(std::string name, OperationKind kind, AccessMode mode, ContentKind content) {
  return EachOperation(std::move(name), [=](Schedule&, Phase& phase, Operation& op, OperationId) {
    if (op.kind != kind) return false;
    Access* access = FindAccess(phase, op, mode, content);
    if (access == nullptr) return false;
    std::swap(*access, phase.access_pool[op.accesses.end - 1]);
    --op.accesses.end;
    return true;
  });
}

Mutant DropBuffer(std::string name, OperationKind kind, AccessMode mode, BufferKind buffer) {
  return EachOperation(std::move(name), [=](Schedule& s, Phase& phase, Operation& op, OperationId) {
    if (op.kind != kind) return false;
    Access* access = FindBuffer(s, phase, op, mode, buffer);
    if (access == nullptr) return false;
    std::swap(*access, phase.access_pool[op.accesses.end - 1]);
    --op.accesses.end;
    return true;
  });
}

Mutant BytesOff(std::string name, OperationKind kind, int by) {
  return EachOperation(std::move(name), [=](Schedule&, Phase&, Operation& op, OperationId) {
    if (op.kind != kind) return false;
    op.bytes = Bytes(op.bytes.value() + static_cast<uint64_t>(by));
    return true;
  });
}

// The next operation of the same lane after `id`; -1: there is none.
OperationId NextInLane(const Phase& phase, OperationId id) {
  for (size_t next = id + 1; next < phase.operations.size(); ++next) {
    if (phase.operations[next].lane == phase.operations[id].lane) {
      return static_cast<OperationId>(next);
    }
  }
  return -1;
}

// The lane's next operation waits in the place of this one: one too late.
std::vector<Schedule> PostponeEachWait(const Schedule& good) {
  std::vector<Schedule> broken;
  for (const PhaseMember member : kPhases) {
    const Phase& phase = good.*member;
    for (size_t i = 0; i < phase.operations.size(); ++i) {
      const PoolRange waits = phase.operations[i].waits;
      const OperationId next = NextInLane(phase, static_cast<OperationId>(i));
      for (uint32_t w = waits.begin; w < waits.end && next >= 0; ++w) {
        Schedule copy = good;
        Phase& changed = copy.*member;
        std::swap(changed.wait_pool[w], changed.wait_pool[waits.end - 1]);
        --changed.operations[i].waits.end;
        const uint32_t begin = static_cast<uint32_t>(changed.wait_pool.size());
        for (const Wait& wait : phase.WaitsOf(phase.operations[next])) {
          changed.wait_pool.push_back(wait);
        }
        changed.wait_pool.push_back(phase.wait_pool[w]);
        changed.operations[next].waits = {begin, static_cast<uint32_t>(changed.wait_pool.size())};
        broken.push_back(std::move(copy));
      }
    }
  }
  return broken;
}

void AddWaitMutants(std::vector<Mutant>& all) {
  all.push_back({"wait_removed", [](const Schedule& good) {
                   std::vector<Schedule> broken;
                   for (const PhaseMember member : kPhases) {
                     const Phase& phase = good.*member;
                     for (size_t i = 0; i < phase.operations.size(); ++i) {
                       const PoolRange waits = phase.operations[i].waits;
                       for (uint32_t w = waits.begin; w < waits.end; ++w) {
                         Schedule copy = good;
                         Phase& changed = copy.*member;
                         std::swap(changed.wait_pool[w], changed.wait_pool[waits.end - 1]);
                         --changed.operations[i].waits.end;
                         broken.push_back(std::move(copy));
                       }
                     }
                   }
                   return broken;
                 }});
  all.push_back({"wait_postponed", PostponeEachWait});
  all.push_back(EachOperation(
      "wait_one_too_early",
      [](Schedule&, Phase& phase, Operation& op, OperationId) {
        for (uint32_t w = op.waits.begin; w < op.waits.end; ++w) {
          Wait& wait = phase.wait_pool[w];
          if (wait.previous_step) continue;
          const Lane lane = phase.operations[wait.operation].lane;
          for (OperationId before = wait.operation - 1; before >= 0; --before) {
            if (phase.operations[before].lane != lane) continue;
            wait.operation = before;
            return true;
          }
        }
        return false;
      },
      400));
  all.push_back(
      EachOperation("wait_for_nobody", [](Schedule&, Phase& phase, Operation& op, OperationId) {
        if (op.waits.begin == op.waits.end) return false;
        phase.wait_pool[op.waits.begin].operation = 1 << 30;
        return true;
      }));
  all.push_back(
      EachOperation("wait_cycle", [](Schedule&, Phase& phase, Operation& op, OperationId id) {
        for (uint32_t w = op.waits.begin; w < op.waits.end; ++w) {
          const Wait wait = phase.wait_pool[w];
          if (wait.previous_step) continue;
          Operation& awaited = phase.operations[wait.operation];
          const uint32_t begin = static_cast<uint32_t>(phase.wait_pool.size());
          phase.wait_pool.push_back({.operation = id});
          awaited.waits = {begin, begin + 1};
          return true;
        }
        return false;
      }));
  all.push_back(EachOperation(
      "load_before_its_adam", [](Schedule&, Phase& phase, Operation& op, OperationId) {
        if (op.kind != OperationKind::kLoadChunk && op.kind != OperationKind::kGather) return false;
        for (uint32_t w = op.waits.begin; w < op.waits.end; ++w) {
          const Wait wait = phase.wait_pool[w];
          if (wait.previous_step || phase.operations[wait.operation].kind != OperationKind::kAdam) {
            continue;
          }
          std::swap(phase.wait_pool[w], phase.wait_pool[op.waits.end - 1]);
          --op.waits.end;
          return true;
        }
        return false;
      }));
}

void AddBufferMutants(std::vector<Mutant>& all) {
  using enum OperationKind;
  all.push_back(
      WrongSibling("load_into_wrong_slot", kLoadChunk, AccessMode::kWrite, BufferKind::kRingSlot));
  all.push_back(
      WrongSibling("forward_from_wrong_slot", kForward, AccessMode::kRead, BufferKind::kRingSlot));
  all.push_back(WrongSibling("backward_from_wrong_slot", kBackward, AccessMode::kRead,
                             BufferKind::kRingSlot));
  all.push_back(WrongSibling("offload_into_wrong_slab", kOffloadGradient, AccessMode::kWrite,
                             BufferKind::kGradientSlab));
  all.push_back(WrongSibling("offload_into_wrong_table_slab", kOffloadGradient, AccessMode::kWrite,
                             BufferKind::kTableSlab));
  all.push_back(
      WrongSibling("pack_into_wrong_slab", kPack, AccessMode::kWrite, BufferKind::kStagingBuffer));
  all.push_back(WrongSibling("accumulate_from_wrong_slab", kAccumulate, AccessMode::kRead,
                             BufferKind::kGradientSlab));
  all.push_back(WrongSibling("gradient_in_wrong_buffer", kBackward, AccessMode::kWrite,
                             BufferKind::kGradient));
  all.push_back(
      WrongSibling("anchor_of_wrong_block", kRecompute, AccessMode::kRead, BufferKind::kAnchor));
  all.push_back(
      WrongSibling("anchor_saved_wrongly", kSaveAnchor, AccessMode::kWrite, BufferKind::kAnchor));
  all.push_back(WrongSibling("anchor_staged_wrongly", kLoadAnchor, AccessMode::kWrite,
                             BufferKind::kAnchorStage));
  all.push_back(
      WrongSibling("residual_swapped", kForward, AccessMode::kWrite, BufferKind::kResidual));
  all.push_back(WrongSibling("activations_of_wrong_place", kRecompute, AccessMode::kWrite,
                             BufferKind::kActivations));
  all.push_back(
      WrongSibling("tokens_of_wrong_batch", kLoadTokens, AccessMode::kWrite, BufferKind::kTokens));
  // Reads and writes the weights of a chunk that nothing trains.
  all.push_back(EachOperation(
      "update_of_frozen_weights", [](Schedule& s, Phase& phase, Operation& op, OperationId) {
        if (op.kind != kAdam) return false;
        for (size_t b = 0; b < s.memory.buffers.size(); ++b) {
          const Buffer& buffer = s.memory.buffers[b];
          if (buffer.kind != BufferKind::kWeightsHi) continue;
          if (s.chunks.chunks[buffer.index].trained > 0) continue;
          Access* written = FindBuffer(s, phase, op, AccessMode::kWrite, BufferKind::kWeightsHi);
          written->buffer = static_cast<BufferId>(b);
          return true;
        }
        return false;
      }));
  all.push_back(Once("two_slots_swapped", [](Schedule& s) {
    // Two consecutive loads trade their slots.
    Access* last = nullptr;
    for (Operation& op : s.steady.operations) {
      if (op.kind != kLoadChunk) continue;
      Access* own = FindBuffer(s, s.steady, op, AccessMode::kWrite, BufferKind::kRingSlot);
      if (own == nullptr) continue;
      if (last != nullptr && last->buffer != own->buffer) {
        std::swap(last->buffer, own->buffer);
        return true;
      }
      last = own;
    }
    return false;
  }));
  all.push_back(Once("slab_freed_early", [](Schedule& s) {
    // Everything that used slab 1 uses slab 0, which was planned for half as many gradients.
    BufferId zero = -1;
    BufferId one = -1;
    for (size_t b = 0; b < s.memory.buffers.size(); ++b) {
      const Buffer& buffer = s.memory.buffers[b];
      if (buffer.kind != BufferKind::kGradientSlab) continue;
      (buffer.index == 0 ? zero : one) = static_cast<BufferId>(b);
    }
    if (one < 0) return false;
    for (const PhaseMember member : kPhases) {
      for (Access& access : (s.*member).access_pool) {
        if (access.buffer == one) access.buffer = zero;
      }
    }
    s.memory.buffers[one].kind = BufferKind::kWorkspace;
    return true;
  }));
}

void AddOperationMutants(std::vector<Mutant>& all) {
  using enum OperationKind;
  for (const auto& [name, kind] :
       std::vector<std::pair<std::string, OperationKind>>{{"adam_removed", kAdam},
                                                          {"accumulate_removed", kAccumulate},
                                                          {"norm_removed", kNorm},
                                                          {"recompute_removed", kRecompute},
                                                          {"load_removed", kLoadChunk},
                                                          {"loss_chunk_removed", kLoss},
                                                          {"log_sum_exp_removed", kLogSumExp},
                                                          {"scatter_removed", kScatter},
                                                          {"tied_sum_removed", kTiedSum},
                                                          {"head_gradient_removed", kHeadGradient},
                                                          {"offload_removed", kOffloadGradient},
                                                          {"clip_factor_removed", kClipFactor},
                                                          {"pack_removed", kPack},
                                                          {"clip_removed", kClipGradient},
                                                          {"routing_removed", kOffloadRouting}}) {
    all.push_back(Removed(name, kind));
  }
  all.push_back(
      EachOperation("adam_of_another_chunk", [](Schedule& s, Phase&, Operation& op, OperationId) {
        if (op.kind != kAdam || s.chunks.chunks.size() < 2) return false;
        op.chunk = (op.chunk + 1) % static_cast<int32_t>(s.chunks.chunks.size());
        return true;
      }));
  all.push_back(EachOperation("wrong_lane", [](Schedule&, Phase&, Operation& op, OperationId) {
    op.lane = op.lane == Lane::kHost ? Lane::kD2h : Lane::kHost;
    return true;
  }));
  all.push_back(
      EachOperation("wrong_micro_batch", [](Schedule&, Phase&, Operation& op, OperationId) {
        if (op.kind != kForward && op.kind != kBackward && op.kind != kLoss) return false;
        ++op.micro_batch;
        return true;
      }));
  all.push_back(EachOperation("neighbours_swapped",
                              [](Schedule&, Phase& phase, Operation& op, OperationId id) {
                                // The next operation of the compute lane runs first.
                                if (op.kind != kForward && op.kind != kBackward) return false;
                                for (size_t next = id + 1; next < phase.operations.size(); ++next) {
                                  if (phase.operations[next].lane != Lane::kCompute) continue;
                                  if (phase.operations[next].chunk == op.chunk) return false;
                                  std::swap(phase.operations[next], op);
                                  return true;
                                }
                                return false;
                              }));
  all.push_back(
      EachOperation("stale_gradient", [](Schedule&, Phase& phase, Operation& op, OperationId) {
        Access* gradient = FindAccess(phase, op, AccessMode::kRead, ContentKind::kGradient);
        if (op.kind != kAdam || gradient == nullptr) return false;
        gradient->age = gradient->age == 0 ? 1 : 0;
        return true;
      }));
  all.push_back(EachOperation(
      "weights_of_another_step", [](Schedule&, Phase& phase, Operation& op, OperationId) {
        Access* weights = FindAccess(phase, op, AccessMode::kRead, ContentKind::kWeights);
        if (op.kind != kLoadChunk || weights == nullptr) return false;
        weights->age = weights->age == 0 ? 1 : 0;
        return true;
      }));
}

void AddCountMutants(std::vector<Mutant>& all) {
  using enum OperationKind;
  all.push_back(BytesOff("load_a_byte_more", kLoadChunk, 1));
  all.push_back(BytesOff("offload_a_byte_less", kOffloadGradient, -1));
  all.push_back(BytesOff("offload_norms_a_byte_less", kOffloadNorms, -1));
  all.push_back(BytesOff("offload_faults_a_byte_more", kOffloadFaults, 1));
  all.push_back(DropAccess("norms_that_stay_on_the_device", kOffloadNorms, AccessMode::kWrite,
                           ContentKind::kNormPartials));
  all.push_back(DropAccess("update_that_tells_no_fault", kAdam, AccessMode::kWrite,
                           ContentKind::kUpdateFaults));
  all.push_back(DropAccess("update_nobody_looks_at", kCheckUpdate, AccessMode::kRead,
                           ContentKind::kUpdateFaults));
  all.push_back(DropAccess("clip_factor_without_a_norm", kClipFactor, AccessMode::kRead,
                           ContentKind::kNormPartials));
  all.push_back(
      DropAccess("adam_without_clip_factor", kAdam, AccessMode::kRead, ContentKind::kClipFactor));
  all.push_back(
      DropAccess("adam_without_moments", kAdam, AccessMode::kWrite, ContentKind::kMoments));
  all.push_back(DropAccess("backward_without_activations", kBackward, AccessMode::kRead,
                           ContentKind::kActivations));
  // Memory that kernels need beside weights and hidden states, and what shards hand on.
  all.push_back(DropAccess("forward_without_rotary_table", kForward, AccessMode::kRead,
                           ContentKind::kRotaryTable));
  all.push_back(DropAccess("backward_without_rotary_table", kBackward, AccessMode::kRead,
                           ContentKind::kRotaryTable));
  all.push_back(DropAccess("forward_without_scratch", kForward, AccessMode::kWrite,
                           ContentKind::kTileScratch));
  all.push_back(
      DropAccess("loss_without_scratch", kLoss, AccessMode::kWrite, ContentKind::kTileScratch));
  all.push_back(
      DropAccess("loss_without_logits", kLoss, AccessMode::kWrite, ContentKind::kScratch));
  all.push_back(
      DropAccess("forward_without_workspace", kForward, AccessMode::kWrite, ContentKind::kScratch));
  all.push_back(DropAccess("backward_without_workspace", kBackward, AccessMode::kWrite,
                           ContentKind::kScratch));
  all.push_back(DropAccess("loss_without_the_sum_over_shards", kLoss, AccessMode::kWrite,
                           ContentKind::kHeadInputSum));
  all.push_back(DropAccess("loss_begins_the_sum_over_shards_again", kLoss, AccessMode::kRead,
                           ContentKind::kHeadInputSum));
  all.push_back(DropAccess("shard_that_reads_nothing_of_the_others", kForward, AccessMode::kRead,
                           ContentKind::kStageArrays));
  all.push_back(DropAccess("shard_that_hands_nothing_on", kForward, AccessMode::kWrite,
                           ContentKind::kStageArrays));
  all.push_back(DropAccess("shard_that_recomputes_alone", kRecompute, AccessMode::kRead,
                           ContentKind::kStageArrays));
  all.push_back(DropAccess("shard_that_goes_back_alone", kBackward, AccessMode::kRead,
                           ContentKind::kStageGradients));
  all.push_back(DropAccess("shard_that_hands_no_gradient_on", kBackward, AccessMode::kWrite,
                           ContentKind::kStageGradients));
  all.push_back(DropAccess("shard_that_keeps_its_activations_only", kRecompute, AccessMode::kRead,
                           ContentKind::kActivations));
  all.push_back(
      DropAccess("last_shard_without_output", kForward, AccessMode::kWrite, ContentKind::kHidden));
  all.push_back(DropAccess("first_shard_without_gradient", kBackward, AccessMode::kWrite,
                           ContentKind::kHiddenGradient));
  // What the routers of experts chose.
  all.push_back(DropAccess("router_that_tells_nothing", kForward, AccessMode::kWrite,
                           ContentKind::kRouterSums));
  all.push_back(DropAccess("router_that_forgets_the_others", kForward, AccessMode::kRead,
                           ContentKind::kRouterSums));
  all.push_back(DropAccess("router_without_the_others_choice", kBackward, AccessMode::kRead,
                           ContentKind::kRouterSums));
  all.push_back(DropAccess("routing_that_stays_on_the_device", kOffloadRouting, AccessMode::kWrite,
                           ContentKind::kRouterSums));
  all.push_back(DropAccess("clip_factor_without_routing", kClipFactor, AccessMode::kRead,
                           ContentKind::kRouterSums));
  all.push_back(BytesOff("routing_a_byte_less", kOffloadRouting, -1));
  all.push_back(DropBuffer("adam_leaves_the_framework_copy_stale", kAdam, AccessMode::kWrite,
                           BufferKind::kFrameworkCopy));
  all.push_back(DropBuffer("load_without_framework_copy", kLoadChunk, AccessMode::kRead,
                           BufferKind::kFrameworkCopy));
  for (const auto& [name, kind] : std::vector<std::pair<std::string, BufferKind>>{
           {"slots_a_byte_short", BufferKind::kRingSlot},
           {"framework_copies_a_byte_short", BufferKind::kFrameworkCopy},
           {"table_slabs_a_byte_short", BufferKind::kTableSlab},
           {"pack_slabs_a_byte_short", BufferKind::kStagingBuffer},
           {"router_sums_a_byte_short", BufferKind::kRouterSums}}) {
    all.push_back(Once(name, [kind = kind](Schedule& s) {
      bool found = false;
      for (Buffer& buffer : s.memory.buffers) {
        if (buffer.kind != kind) continue;
        buffer.bytes -= 1_B;
        found = true;
      }
      return found;
    }));
  }
  all.push_back(Once("total_a_byte_more", [](Schedule& s) {
    s.memory.totals[0] += 1_B;
    return true;
  }));
  all.push_back(Once("total_a_byte_less", [](Schedule& s) {
    s.memory.totals[1] -= 1_B;
    return true;
  }));
  all.push_back(Once("buffers_overlap", [](Schedule& s) {
    for (Buffer& buffer : s.memory.buffers) {
      if (buffer.memory != Memory::kDevice || buffer.offset == 0) continue;
      buffer.offset -= kBufferAlignment;
      return true;
    }
    return false;
  }));
  all.push_back(Once("buffer_misaligned", [](Schedule& s) {
    Buffer& last = s.memory.buffers.back();
    ++last.offset;
    s.memory.totals[static_cast<size_t>(last.memory)] += 1_B;
    return true;
  }));
  all.push_back(Once("buffer_never_used", [](Schedule& s) {
    Bytes& end = s.memory.totals[0];
    end = end.RoundedUp(kBufferAlignment);
    s.memory.buffers.push_back(
        {.kind = BufferKind::kRingSlot, .offset = end.value(), .bytes = 64_B});
    end += 64_B;
    return true;
  }));
  all.push_back(Once("slab_not_pinned", [](Schedule& s) {
    for (Buffer& buffer : s.memory.buffers) {
      if (buffer.kind != BufferKind::kGradientSlab) continue;
      Bytes& end = s.memory.totals[static_cast<size_t>(Memory::kHost)];
      buffer.memory = Memory::kHost;
      buffer.offset = end.RoundedUp(kBufferAlignment).value();
      end = Bytes(buffer.offset) + buffer.bytes;
      return true;
    }
    return false;
  }));
  all.push_back(Once("table_leaves_through_the_pool", [](Schedule& s) {
    bool found = false;
    for (Buffer& buffer : s.memory.buffers) {
      if (buffer.kind != BufferKind::kTableSlab) continue;
      buffer.kind = BufferKind::kGradientSlab;
      found = true;
    }
    return found;
  }));
  all.push_back(Once("chunk_a_parameter_more", [](Schedule& s) {
    ++s.chunks.chunks.front().parameters;
    return true;
  }));
  all.push_back(Once("chunk_trains_a_parameter_more", [](Schedule& s) {
    s.chunks.chunks.back().trained += 1;
    return true;
  }));
  all.push_back(Once("tensor_frozen_behind_the_counts", [](Schedule& s) {
    std::vector<Stage> stages = s.chunks.stages;
    for (Stage& stage : stages) {
      for (TensorSpec& tensor : stage.tensors) {
        if (!tensor.trained) continue;
        tensor.trained = false;
        s.chunks.stages = std::move(stages);
        return true;
      }
    }
    return false;
  }));
  all.push_back(Once("piece_lost", [](Schedule& s) {
    for (Chunk& chunk : s.chunks.chunks) {
      if (chunk.pieces.size() < 2) continue;
      --chunk.pieces.end;
      return true;
    }
    return false;
  }));
  all.push_back(Once("store_not_filled", [](Schedule& s) {
    s.initial.erase(s.initial.begin());
    return true;
  }));
  all.push_back(Once("rotary_table_not_filled", [](Schedule& s) {
    std::erase_if(s.initial, [](const Access& access) {
      return access.content.kind == ContentKind::kRotaryTable;
    });
    return true;
  }));
  all.push_back(Once("bodies_differ", [](Schedule& s) {
    if (s.steady.operations.empty()) return false;
    s.steady.operations.back().part = 7;
    return true;
  }));
}

}  // namespace

std::vector<Mutant> AllMutants() {
  std::vector<Mutant> all;
  AddWaitMutants(all);
  AddBufferMutants(all);
  AddOperationMutants(all);
  AddCountMutants(all);
  return all;
}

void RemoveOperation(Phase& phase, OperationId id) {
  Phase result;
  result.body_begin = phase.body_begin - (id < phase.body_begin ? 1 : 0);
  result.access_pool = phase.access_pool;
  for (OperationId i = 0; i < static_cast<OperationId>(phase.operations.size()); ++i) {
    if (i == id) continue;
    Operation op = phase.operations[i];
    const uint32_t begin = static_cast<uint32_t>(result.wait_pool.size());
    for (Wait wait : phase.WaitsOf(op)) {
      if (!wait.previous_step) {
        if (wait.operation == id) continue;
        if (wait.operation > id) --wait.operation;
      }
      result.wait_pool.push_back(wait);
    }
    op.waits = {begin, static_cast<uint32_t>(result.wait_pool.size())};
    result.operations.push_back(op);
  }
  phase = std::move(result);
}

}  // namespace horizon
