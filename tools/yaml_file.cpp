#include "tools/yaml_file.hpp"

#include <yaml-cpp/yaml.h>

#include "graph/input_file.hpp"

namespace troupe {
namespace {

constexpr std::uint64_t file_bytes_max = 1u << 20;

result<std::string> text_of(const std::string& path, const std::string& content) {
  TROUPE_TRY(file, input_file::open(path));
  if (file.size() > file_bytes_max)
    return error{errc::bad_input, path + ": more than 1 MiB, too much for a map of " + content};
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  if (auto read = file.read(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()}); !read)
    return read.error();
  return text;
}

}  // namespace

error wrong_in_yaml(const std::string& path, const YAML::Mark& where, const std::string& what) {
  const auto place = where.is_null() ? ""
                                     : ":" + std::to_string(where.line + 1) + ":"
                                           + std::to_string(where.column + 1);
  return {errc::bad_input, path + place + ": " + what};
}

result<void> read_yaml_map(const std::string& path, const std::string& content,
                           const std::function<result<void>(const YAML::Node&)>& parse) {
  TROUPE_TRY(text, text_of(path, content));
  try {
    const auto documents = YAML::LoadAll(text);
    if (documents.size() > 1)
      return wrong_in_yaml(path, documents[1].Mark(), "expected one document in a file");
    const auto root = documents.empty() ? YAML::Node() : documents.front();
    if (!root.IsMap()) return wrong_in_yaml(path, root.Mark(), "expected a map of " + content);
    return parse(root);
  } catch (const YAML::Exception& why) {
    return wrong_in_yaml(path, why.mark, why.msg);
  }
}

}  // namespace troupe
