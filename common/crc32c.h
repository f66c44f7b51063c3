#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace horizon {

// CRC-32C checksums, which iSCSI, ext4 and our checkpoints use (Castagnoli polynomial 0x1EDC6F41,
// reflected, initial and final value all ones). A checksum detects every error burst of up to 32
// bits, and every one to three flipped bits in data shorter than 2^31 bits. It does not protect
// against deliberate changes. The functions are pure, and any thread may call them.

// The checksum of `bytes`. To continue over data that arrives in pieces, pass the checksum of
// everything before this piece:
//   crc = Crc32c(first);
//   crc = Crc32c(second, crc);  // of both, one after the other
// It uses the processor's CRC instruction where there is one.
uint32_t Crc32c(std::span<const std::byte> bytes, uint32_t before = 0);

// The checksum of two pieces of data one after the other, from the checksum of each and the length
// of the second in bytes. With it, the pieces of a tensor can be processed in any order. It takes
// about a microsecond, whatever the length.
uint32_t Crc32cCombine(uint32_t first, uint32_t second, uint64_t second_bytes);

// The checksum as files hold it and messages print it: eight hexadecimal digits in lower case.
std::string Crc32cText(uint32_t crc);

// Crc32c for processors without the instruction; it returns the same values. Tests and benchmarks
// call it directly.
uint32_t Crc32cPortable(std::span<const std::byte> bytes, uint32_t before = 0);

}  // namespace horizon
