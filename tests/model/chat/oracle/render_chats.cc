// render_chats: reads a line of JSON at a time from standard input and answers with one.
//   {"template": text or null: the folder's own, "tokenizer": folder, "record": {...},
//    "add_generation_prompt": false, "arguments": {...}, "date": "2024-07-26"}
//   -> {"text": ..., "ids": [...], "mask": [...]} or {"error": ...}
// The record is one of a data file: "messages", "conversations", "prompt" and "completion", ...,
// with "tools", "documents" and "chat_template_kwargs". With a generation prompt the mask is all
// zeros, and a record need not have anything to learn.
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/documents/document.h"
#include "common/documents/json.h"
#include "common/files/io.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "model/chat/chat_encoder.h"
#include "model/chat/date_text.h"
#include "model/chat/write_json.h"
#include "model/tokenizer/load_tokenizer.h"
#include "runtime/data/sample.h"

namespace horizon {
namespace {

struct Answer {
  std::string text;
  std::vector<int32_t> ids;
  std::vector<bool> mask;
};

class Renderer {
 public:
  absl::StatusOr<Answer> Render(const Value& request) {
    const Value* folder = request.Find("tokenizer");
    if (folder == nullptr || folder->As<std::string>() == nullptr) {
      return absl::InvalidArgumentError("\"tokenizer\" must name a folder");
    }
    ASSIGN_OR_RETURN(const ModelTokenizer* model, Load(*folder->As<std::string>()));
    ASSIGN_OR_RETURN(const ChatEncoder encoder, EncoderFor(request, *model));
    const Value* record = request.Find("record");
    if (record == nullptr) return absl::InvalidArgumentError("\"record\" is missing");
    const Value* prompt = request.Find("add_generation_prompt");
    const bool prompts = prompt != nullptr && prompt->As<bool>() != nullptr && *prompt->As<bool>();
    JsonWriter json(JsonWriter::Style::kOneLine);
    WriteJson(*record, json);
    const std::string text = std::move(json).Finish();
    ASSIGN_OR_RETURN(const DataKind kind, DetectKind(text));
    Sample sample;
    const absl::Status parsed =
        ParseSample(text, kind, {.sequence = 1 << 20, .vocab = 1 << 30}, sample);
    const bool lacks_answer = parsed.message().find("nothing to learn") != absl::string_view::npos;
    if (!parsed.ok() && !lacks_answer) return parsed;
    Answer answer;
    ASSIGN_OR_RETURN(EncodedChat chat,
                     encoder.Encode(sample.conversation, prompts ? GenerationPrompt::kWith
                                                                 : GenerationPrompt::kWithout));
    answer.text = chat.text.text();
    answer.ids = std::move(chat.ids);
    answer.mask.resize(answer.ids.size());
    if (!prompts) {
      ASSIGN_OR_RETURN(ChatTokens tokens, encoder.EncodeForTraining(sample.conversation));
      answer.mask = std::move(tokens.mask.trained);
    }
    return answer;
  }

 private:
  absl::StatusOr<const ModelTokenizer*> Load(const std::string& folder) {
    auto found = models_.find(folder);
    if (found == models_.end()) {
      ASSIGN_OR_RETURN(ModelTokenizer model, LoadTokenizer(*io_, folder));
      found = models_.emplace(folder, std::move(model)).first;
    }
    return &found->second;
  }

  static absl::StatusOr<ChatEncoder> EncoderFor(const Value& request, const ModelTokenizer& model) {
    ChatChoice choice;
    const Value* own = request.Find("template");
    if (own != nullptr && own->As<std::string>() != nullptr) {
      choice.own =
          ChatTemplateText{.name = "default", .text = *own->As<std::string>(), .where = "template"};
    }
    const Value* arguments = request.Find("arguments");
    if (arguments != nullptr && arguments->As<Value::Object>() != nullptr) {
      choice.arguments = *arguments->As<Value::Object>();
    }
    const Value* date = request.Find("date");
    if (date != nullptr && date->As<std::string>() != nullptr) {
      ASSIGN_OR_RETURN(choice.now, ParseDay(*date->As<std::string>()));
    }
    return MakeChatEncoder(model, choice);
  }

  const std::unique_ptr<Io> io_ = MakePosixIo();
  std::map<std::string, ModelTokenizer> models_;
};

std::string AnswerLine(const absl::StatusOr<Answer>& answer) {
  JsonWriter json(JsonWriter::Style::kOneLine);
  json.BeginObject();
  if (!answer.ok()) {
    json.Key("error").String(
        std::string(answer.status().message().data(), answer.status().message().size()));
  } else {
    json.Key("text").String(answer->text).Key("ids").BeginArray();
    for (const int32_t id : answer->ids) json.Integer(id);
    json.EndArray().Key("mask").BeginArray();
    for (const bool trained : answer->mask) json.Integer(trained ? 1 : 0);
    json.EndArray();
  }
  json.EndObject();
  return std::move(json).Finish();
}

int Main() {
  Renderer renderer;
  std::string line;
  while (std::getline(std::cin, line)) {
    const absl::StatusOr<Document> request =
        ParseJson("request", line, {.text = 64_MiB, .depth = 100, .values = 5'000'000});
    const absl::StatusOr<Answer> answer =
        request.ok() ? renderer.Render(request->root) : absl::StatusOr<Answer>(request.status());
    std::cout << AnswerLine(answer) << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace horizon

int main() { return horizon::Main(); }
