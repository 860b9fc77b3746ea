// torch_plugin: the c10d backend for the torch of one interpreter: is it there, and making it.
//
// What a build is for and where builds lie is said by the interpreter itself
// (python/troupe_hook/torch_build.py); here are the compiler's runs. Invariant: a build's folder
// appears under its name when it is whole and was loaded once, or not at all.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "messages/error.hpp"

namespace troupe {

/// The answer of torch_build.py.
struct torch_facts {
  std::string python;   ///< as it was named
  std::string version;  ///< empty: no torch
  std::string key;      ///< torch-VERSION-ABI-PYTHON
  std::string missing;  ///< why there is no use in building; empty: nothing is missing
  std::string module;   ///< the build that ranks of this interpreter load; empty: none
  std::string why_no_module;
  bool cxx11_abi{};
  std::vector<std::string> includes, library_folders, definitions;
  std::string cache, sources, sources_digest;
};

/// bad_input: no such interpreter, or one that cannot answer.
result<torch_facts> ask_interpreter(const std::string& python, const std::string& libraries);

/// Loads a build in its interpreter, as a rank does.
result<void> try_module(const torch_facts& facts, const std::string& libraries,
                        const std::string& module);

/// Builds it into the user's cache with the compiler of $CXX (default c++); returns its folder.
/// no_resources: no compiler, no room; internal: our sources do not compile.
result<std::string> build_torch_plugin(const torch_facts& facts, const std::string& libraries,
                                       const std::function<void(const std::string&)>& say);

}  // namespace troupe
