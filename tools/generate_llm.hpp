// generate_llm: `troupe generate llm`: training steps of a language model as a trace.
//
// Not here: what a step is (graph/workload/llm_step.hpp).
#pragma once

namespace troupe {

/// argv[0] is "llm". Returns the exit status.
int generate_llm(int argc, char** argv);

}  // namespace troupe
