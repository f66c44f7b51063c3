#include <string_view>

#include "common/cuda_status.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "kernels/arguments/workspace_allocator.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/cached_attention.h"
#include "kernels/attention/cached_attention_launch.h"
#include "kernels/cuda/cuda_arguments.h"

namespace horizon {
namespace {

absl::Status CheckCache(const KvCache& cache) {
  if (cache.batch >= 0 && cache.places > 0 && cache.kv_heads > 0 && cache.head_dim > 0 &&
      cache.head_dim % 8 == 0 && cache.head_dim <= kMaxHeadDim) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      StrCat("a cache on the CUDA device of ", cache.batch, " rows of ", cache.places,
             " places for ", cache.kv_heads, " heads of ", cache.head_dim,
             ": all but the rows are at least 1, and heads a multiple of 8 up to ", kMaxHeadDim));
}

constexpr std::string_view kStore = "store keys on the CUDA device";
constexpr std::string_view kAttend = "attend to a cache on the CUDA device";

}  // namespace

absl::Status StoreKeysCuda(const KernelContext& context, const StoreKeys& args) {
  const KvCache& cache = args.cache;
  RETURN_IF_ERROR(CheckCache(cache));
  if (args.sequence <= 0 || cache.batch == 0) return absl::OkStatus();
  RETURN_IF_ERROR(CudaArguments(context, "storing keys")
                      .AlignedBf16("the cache's k", cache.k)
                      .AlignedBf16("the cache's v", cache.v)
                      .AlignedBf16("k", args.k)
                      .AlignedBf16("v", args.v)
                      .Array("records", args.records)
                      .status());
  StoreKeysLaunch launch = {.batch = cache.batch,
                            .sequence = args.sequence,
                            .places = cache.places,
                            .width = cache.kv_heads * cache.head_dim,
                            .records = args.records,
                            .from = args.k.bf16(),
                            .to = cache.k.bf16()};
  RETURN_IF_ERROR(RunOnCuda(kStore, [&] { return LaunchStoreKeys(launch, context.stream); }));
  launch.from = args.v.bf16();
  launch.to = cache.v.bf16();
  return RunOnCuda(kStore, [&] { return LaunchStoreKeys(launch, context.stream); });
}

absl::Status CachedAttentionCuda(const KernelContext& context, const CachedAttention& args) {
  const KvCache& cache = args.cache;
  RETURN_IF_ERROR(CheckCache(cache));
  constexpr int64_t kMostThreadBlocks = 65535;  // of a grid's second and third dimension
  if (args.heads <= 0 || args.heads % cache.kv_heads != 0 || args.heads > kMostThreadBlocks ||
      cache.batch > kMostThreadBlocks) {
    return absl::InvalidArgumentError(StrCat(
        "attention of ", args.heads, " heads to a cache of ", cache.kv_heads, " for ", cache.batch,
        " rows; heads are a multiple of key heads, and both at most ", kMostThreadBlocks));
  }
  if (cache.batch == 0) return absl::OkStatus();
  RETURN_IF_ERROR(CudaArguments(context, "attention to a cache")
                      .Workspace(CachedAttentionWorkspaceBytes(cache, args.heads))
                      .AlignedBf16("the cache's k", cache.k)
                      .AlignedBf16("the cache's v", cache.v)
                      .AlignedBf16("q", args.q)
                      .Bf16OrNull("sinks", args.sinks)
                      .AlignedBf16("output", args.output)
                      .Array("records", args.records)
                      .status());
  WorkspaceAllocator workspace(context.device_workspace.data());
  const CachedAttentionMemory memory(cache, args.heads, workspace);
  return RunOnCuda(kAttend, [&] {
    return LaunchCachedAttention({.batch = cache.batch,
                                  .heads = args.heads,
                                  .kv_heads = cache.kv_heads,
                                  .group = static_cast<unsigned>(args.heads / cache.kv_heads),
                                  .head_dim = cache.head_dim,
                                  .places = cache.places,
                                  .tiles = CacheTiles(cache),
                                  .scale = args.scale,
                                  .records = args.records,
                                  .q = args.q.bf16(),
                                  .k = cache.k.bf16(),
                                  .v = cache.v.bf16(),
                                  .sinks = args.sinks.bf16(),
                                  .largest = memory.largest,
                                  .sum = memory.sum,
                                  .values = memory.values,
                                  .output = args.output.bf16()},
                                 context.stream);
  });
}

}  // namespace horizon
