#include "schedule/load_files.h"

#include <string_view>

#include "common/documents/json.h"
#include "common/documents/yaml.h"
#include "common/status_macros.h"

namespace horizon {

absl::StatusOr<TrainingJob> LoadJob(Io& io, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(io, path));
  const std::string_view name = path;
  const bool yaml = name.ends_with(".yaml") || name.ends_with(".yml");
  ASSIGN_OR_RETURN(const Document document, yaml ? ParseYaml(path, text) : ParseJson(path, text));
  return ReadJob(document);
}

absl::StatusOr<StreamPlan> LoadPlan(Io& io, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(io, path));
  ASSIGN_OR_RETURN(const Document document, ParseJson(path, text));
  return ReadPlan(document);
}

}  // namespace horizon
