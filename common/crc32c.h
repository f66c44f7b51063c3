#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace horizon {

// CRC-32C (Castagnoli: polynomial 0x1EDC6F41, reflected, all ones in and out): what iSCSI, ext4 and
// the checkpoints of ours use. Finds every burst of up to 32 bits and every one to three flipped
// bits of a block below 2^31 bits; it is no protection against intent. Pure; any thread.

// Of `bytes`, or, with the value of what came before, of both one after the other.
// Uses the processor's instruction where there is one.
uint32_t Crc32c(std::span<const std::byte> bytes, uint32_t before = 0);

// Of two texts one after the other, from the values of both and the length of the second. The parts
// of a tensor can so be summed in any order. About a microsecond whatever the length.
uint32_t Crc32cCombine(uint32_t first, uint32_t second, uint64_t second_bytes);

// As files hold it and messages print it: eight hexadecimal digits in lower case.
std::string Crc32cText(uint32_t crc);

// The body for processors without the instruction; the same values. For tests and benchmarks.
uint32_t Crc32cPortable(std::span<const std::byte> bytes, uint32_t before = 0);

}  // namespace horizon
