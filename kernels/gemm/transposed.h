#pragma once

namespace horizon {

// Whether a matrix lies in memory the other way round than a product takes it.
enum class Transposed { kNo, kYes };

}  // namespace horizon
