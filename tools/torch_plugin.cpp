#include "tools/torch_plugin.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tools/subprocess.hpp"

namespace troupe {
namespace {

namespace fs = std::filesystem;

constexpr const char* module_name = "troupe_c10d.so";
constexpr const char* note_name = "sources.sha256";  // torch_build.py reads it

std::string probe(const std::string& libraries) {
  return libraries + "/python/troupe_hook/torch_build.py";
}

std::string first_line_with(const std::string& text, const std::string& word) {
  std::istringstream lines(text);
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    if (!word.empty() && line.find(word) != std::string::npos) return line;
    if (!line.empty()) last = line;
  }
  return last;
}

std::vector<std::string> compiler() {
  const char* named = std::getenv("CXX");
  std::istringstream words(named && *named ? named : "c++");
  std::vector<std::string> command;
  for (std::string word; words >> word;) command.push_back(word);
  return command;
}

result<void> check_compiler() {
  auto command = compiler();
  const auto name = command.front();
  command.insert(command.end(), {"-std=c++20", "-x", "c++", "-fsyntax-only", "/dev/null"});
  auto ended = run_to_end(command);
  if (!ended)
    return error{errc::no_resources, "no C++ compiler: " + ended.error().context
                                         + " (Debian: apt install g++; CXX names another one)"};
  if (ended->status != 0)
    return error{errc::no_resources,
                 name + " is no C++20 compiler: " + first_line_with(ended->errors, "error")
                     + " (CXX names another one)"};
  return {};
}

std::vector<std::string> sources_of(const torch_facts& facts) {
  std::vector<std::string> files;
  std::error_code code;
  for (const auto& entry : fs::recursive_directory_iterator(facts.sources, code))
    if (entry.path().extension() == ".cpp") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

error compile_error(const torch_facts& facts, const finished_process& ended) {
  return {errc::internal, "the backend does not build for torch " + facts.version + " of "
                              + facts.python + ": " + first_line_with(ended.errors, "error")};
}

/// All sources as one: torch's headers are what takes time, and so they are read once.
result<void> compile(const torch_facts& facts, const std::string& all, const std::string& libraries,
                     const std::string& module) {
  const auto sources = sources_of(facts);
  if (sources.empty())
    return error{errc::internal, facts.sources + " has no sources: the installation is incomplete"};
  std::ofstream file(all);
  for (const auto& source : sources) file << "#include \"" << source << "\"\n";
  file.close();
  if (!file) return error{errc::no_resources, all + " cannot be written"};

  auto command = compiler();
  command.insert(
      command.end(),
      {"-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-w", "-DTORCH_API_INCLUDE_EXTENSION_H",
       facts.cxx11_abi ? "-D_GLIBCXX_USE_CXX11_ABI=1" : "-D_GLIBCXX_USE_CXX11_ABI=0"});
  for (const auto& each : facts.definitions) command.push_back("-D" + each);
  command.push_back("-I" + facts.sources);
  for (const auto& each : facts.includes) command.insert(command.end(), {"-isystem", each});
  auto linking = compiler();
  const auto object = all + ".o";
  command.insert(command.end(), {"-c", all, "-o", object});
  TROUPE_TRY(compiled, run_to_end(command));
  if (compiled.status != 0) return compile_error(facts, compiled);

  linking.insert(linking.end(),
                 {"-shared", "-o", module, object, libraries + "/libtroupe_client.so"});
  for (const auto& each : facts.library_folders) linking.push_back("-L" + each);
  for (const auto* each : {"-ltorch_python", "-ltorch", "-ltorch_cpu", "-lc10"})
    linking.push_back(each);
  TROUPE_TRY(linked, run_to_end(linking));
  if (linked.status != 0) return compile_error(facts, linked);
  return {};
}

/// Of builders that are no more: nobody else removes what they left.
void remove_leftovers(const fs::path& cache) {
  const std::string mark = ".building-";
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(cache, code)) {
    const auto name = entry.path().filename().string();
    const auto at = name.rfind(mark);
    if (at == std::string::npos) continue;
    const auto pid = std::atoi(name.c_str() + at + mark.size());
    if (pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH) fs::remove_all(entry.path(), code);
  }
}

struct working_folder {
  fs::path path;
  ~working_folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

}  // namespace

result<torch_facts> ask_interpreter(const std::string& python, const std::string& libraries) {
  TROUPE_TRY(ended, run_to_end({python, "-W", "ignore", probe(libraries)}));
  const auto said = nlohmann::json::parse(ended.output, nullptr, false);
  if (ended.status != 0 || !said.is_object())
    return error{errc::bad_input,
                 python + " cannot say what torch it has: " + first_line_with(ended.errors, "")};
  torch_facts facts;
  facts.python = python;
  facts.version = said.value("version", "");
  facts.key = said.value("key", "");
  facts.missing = said.value("missing", "");
  facts.module = said.value("module", "");
  facts.why_no_module = said.value("why_no_module", "");
  facts.cxx11_abi = said.value("cxx11_abi", 0) != 0;
  facts.includes = said.value("includes", facts.includes);
  facts.library_folders = said.value("library_folders", facts.library_folders);
  facts.definitions = said.value("definitions", facts.definitions);
  facts.cache = said.value("cache", "");
  facts.sources = said.value("sources", "");
  facts.sources_digest = said.value("sources_digest", "");
  return facts;
}

result<void> try_module(const torch_facts& facts, const std::string& libraries,
                        const std::string& module) {
  TROUPE_TRY(ended, run_to_end({facts.python, "-W", "ignore", probe(libraries), module}));
  if (ended.status == 0) return {};
  return error{errc::internal, module + " cannot be loaded by " + facts.python + ": "
                                   + first_line_with(ended.errors, "")};
}

result<std::string> build_torch_plugin(const torch_facts& facts, const std::string& libraries,
                                       const std::function<void(const std::string&)>& say) {
  if (!facts.missing.empty()) return error{errc::bad_input, facts.missing};
  if (auto works = check_compiler(); !works) return works.error();
  const fs::path cache = facts.cache, final_folder = cache / facts.key;
  working_folder work{cache / (facts.key + ".building-" + std::to_string(::getpid()))};
  std::error_code code;
  const auto made = work.path / "build";
  fs::create_directories(made, code);
  if (code) return error{errc::no_resources, made.string() + " cannot be made: " + code.message()};
  remove_leftovers(cache);

  say("building the c10d backend for torch " + facts.version + " of " + facts.python);
  const auto module = (made / module_name).string();
  if (auto built = compile(facts, work.path / "all.cpp", libraries, module); !built)
    return built.error();
  if (auto loaded = try_module(facts, libraries, module); !loaded) return loaded.error();
  std::ofstream note(made / note_name);
  note << facts.sources_digest << "\n";
  note.close();
  if (!note) return error{errc::no_resources, (made / note_name).string() + " cannot be written"};

  fs::rename(final_folder, work.path / "replaced", code);  // a folder in its place cannot be
  fs::rename(made, final_folder, code);
  if (code)
    return error{errc::no_resources,
                 final_folder.string() + " cannot be put in place: " + code.message()};
  return final_folder.string();
}

}  // namespace troupe
