#include "model/files/stored_tensor.h"

#include "common/text/str_cat.h"
#include "model/files/dtype.h"

namespace horizon {

Bytes StoredTensor::bytes() const {
  const Bytes of_values = values->tensor->bytes();
  return scales == nullptr ? of_values : of_values + scales->tensor->bytes();
}

std::string StoredTensor::FormatName() const {
  switch (format) {
    case StoredFormat::kPlain:
      return std::string(ToString(values->tensor->dtype));
    case StoredFormat::kFp8:
      return StrCat("FP8 ", block_rows, "x", block_columns);
    case StoredFormat::kMxfp4:
      return "MXFP4";
  }
  return "unknown";
}

}  // namespace horizon
