// call_site: where in the program's Python a communication call stands.
//
// Not the innermost frame, which is torch's: the innermost one outside torch, the standard library
// and ourselves.
#pragma once

#include <string>
#include <vector>

namespace troupe {

/// Files below these folders are never a call site.
void exclude_from_call_sites(std::vector<std::string> folders);

/// "train.py:42 in step", the path relative to the working folder where it lies below it; empty
/// when this thread runs no Python (an autograd thread) or the interpreter ends. Takes the
/// interpreter lock.
std::string call_site();

}  // namespace troupe
