#pragma once

namespace horizon {

// Whether a matrix is stored transposed: kYes means that memory holds the transpose of the matrix
// that the multiply takes.
enum class Transposed { kNo, kYes };

}  // namespace horizon
