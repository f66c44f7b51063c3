// What model/ says to safetensors files, for the Python programs beside it to compare with.
//   safetensors_tool verdicts FOLDER    one JSON line for each file of the folder
//   safetensors_tool copy FROM TO       reads a file and writes its tensors to a new one
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/documents/json.h"
#include "common/files/io.h"
#include "common/status_macros.h"
#include "model/files/safetensors_reader.h"
#include "model/files/safetensors_writer.h"

namespace horizon {
namespace {

std::string VerdictLine(Io& io, const std::string& folder, const std::string& name) {
  const absl::StatusOr<SafetensorsReader> reader =
      SafetensorsReader::Open(io, JoinPath(folder, name));
  JsonWriter line(JsonWriter::Style::kOneLine);
  line.BeginObject().Key("file").String(name).Key("accepted").Bool(reader.ok());
  if (!reader.ok()) {
    return std::move(line.Key("reason").String(std::string(reader.status().message())).EndObject())
        .Finish();
  }
  line.Key("metadata").BeginObject();
  for (const auto& [key, value] : reader->header().metadata()) line.Key(key).String(value);
  line.EndObject().Key("tensors").BeginArray();
  for (const TensorEntry& tensor : reader->header().tensors()) {
    line.BeginArray().String(tensor.name).String(ToString(tensor.dtype)).BeginArray();
    for (const int64_t dimension : tensor.shape) line.Integer(dimension);
    line.EndArray().Unsigned(tensor.begin).Unsigned(tensor.end).EndArray();
  }
  line.EndArray().EndObject();
  return std::move(line).Finish();
}

absl::Status PrintVerdicts(Io& io, const std::string& folder) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, io.List(folder));
  for (const std::string& name : names) {
    std::printf("%s\n", VerdictLine(io, folder, name).c_str());
  }
  return absl::OkStatus();
}

absl::Status Copy(Io& io, const std::string& from, const std::string& to) {
  ASSIGN_OR_RETURN(const SafetensorsReader reader, SafetensorsReader::Open(io, from));
  std::vector<TensorDeclaration> tensors;
  for (const TensorEntry& tensor : reader.header().tensors()) {
    tensors.push_back({tensor.name, tensor.dtype, tensor.shape});
  }
  ASSIGN_OR_RETURN(
      const std::unique_ptr<SafetensorsWriter> writer,
      SafetensorsWriter::Create(io, to, tensors, {.metadata = reader.header().metadata()}));
  std::vector<std::byte> bytes;
  for (const TensorEntry& tensor : reader.header().tensors()) {
    bytes.resize(tensor.bytes().value());
    RETURN_IF_ERROR(reader.ReadTensor(tensor.name, bytes));
    RETURN_IF_ERROR(writer->Append(tensor.name, bytes));
  }
  return writer->Finish();
}

absl::Status Run(const std::vector<std::string>& words) {
  const std::unique_ptr<Io> io = MakePosixIo();
  if (words.size() == 2 && words[0] == "verdicts") return PrintVerdicts(*io, words[1]);
  if (words.size() == 3 && words[0] == "copy") return Copy(*io, words[1], words[2]);
  return absl::InvalidArgumentError("use: verdicts FOLDER | copy FROM TO");
}

}  // namespace
}  // namespace horizon

int main(int argc, char** argv) {
  const absl::Status status = horizon::Run(std::vector<std::string>(argv + 1, argv + argc));
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
