#include "interpose/torch/call_site.hpp"

#include <Python.h>
#include <frameobject.h>

#include <filesystem>
#include <unordered_map>

namespace troupe {

namespace {

/// What is known of a code object: is it the program's, and how is it written.
struct code_name {
  bool excluded{};
  std::string file, function;
};

/// More code objects than this are of generated code: the names are then forgotten and learnt anew.
constexpr std::size_t names_max = 4096;

std::vector<std::string>& excluded_folders() {
  static auto* folders = new std::vector<std::string>;  // outlives the interpreter's end
  return *folders;
}

bool is_excluded(const std::string& file) {
  if (file.empty() || file.front() == '<')
    return file.rfind("<stdin>", 0) != 0 && file != "<string>";
  for (auto& folder : excluded_folders())
    if (file.compare(0, folder.size(), folder) == 0) return true;
  return false;
}

std::string shortened(const std::string& file) {
  std::error_code failed;
  auto here = std::filesystem::current_path(failed).string() + "/";
  if (!failed && file.compare(0, here.size(), here) == 0) return file.substr(here.size());
  if (!file.empty() && file.front() != '/') return file;
  return std::filesystem::path(file).filename().string();
}

std::string text_of(PyObject* text) {
  const char* bytes = PyUnicode_AsUTF8(text);
  if (!bytes) PyErr_Clear();
  return bytes ? bytes : "?";
}

/// Guarded by the interpreter lock; holds its keys, so that no address is used twice.
const code_name& name_of(PyCodeObject* code) {
  static auto* names = new std::unordered_map<PyCodeObject*, code_name>;
  auto known = names->find(code);
  if (known != names->end()) return known->second;
  if (names->size() >= names_max) {
    for (auto& entry : *names) Py_DECREF(entry.first);
    names->clear();
  }
  Py_INCREF(code);
  auto file = text_of(code->co_filename);
  auto excluded = is_excluded(file);
  return names->emplace(code, code_name{excluded, shortened(file), text_of(code->co_name)})
      .first->second;
}

bool interpreter_ends() {
#if PY_VERSION_HEX >= 0x030d0000
  return Py_IsFinalizing();
#else
  return _Py_IsFinalizing();
#endif
}

std::string innermost_of_program() {
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  while (frame) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    auto& name = name_of(code);
    Py_DECREF(code);
    if (!name.excluded) {
      auto line = PyFrame_GetLineNumber(frame);
      Py_DECREF(frame);
      return name.file + ':' + std::to_string(line) + " in " + name.function;
    }
    PyFrameObject* caller = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = caller;
  }
  return {};
}

}  // namespace

void exclude_from_call_sites(std::vector<std::string> folders) {
  excluded_folders() = std::move(folders);
}

std::string call_site() {
  if (!Py_IsInitialized() || interpreter_ends() || !PyGILState_GetThisThreadState()) return {};
  auto lock = PyGILState_Ensure();
  auto site = innermost_of_program();
  PyGILState_Release(lock);
  return site;
}

}  // namespace troupe
