#include "common/shared_library.h"

#include <dlfcn.h>

#include "absl/status/status.h"
#include "common/text/str_cat.h"

namespace horizon {

absl::StatusOr<SharedLibrary> SharedLibrary::Open(const std::string& name) {
  // An empty name would be the program itself.
  if (name.empty()) return absl::UnavailableError("cannot open a library without a name");
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return SharedLibrary(handle);
  const char* words = dlerror();
  return absl::UnavailableError(
      StrCat("cannot open ", name, ": ", words == nullptr ? "no reason is given" : words));
}

SharedLibrary::~SharedLibrary() {
  if (handle_ != nullptr) dlclose(handle_);
}

void* SharedLibrary::FindAddress(const char* symbol) const { return dlsym(handle_, symbol); }

}  // namespace horizon
