// findings: what a run diagnosed, as the report and the exit status need it (DESIGN.md, contracts:
// `findings`).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "messages/error.hpp"
#include "messages/ids.hpp"

namespace troupe {

struct finding {
  errc kind{};
  std::vector<rank_id> ranks;  ///< who is to blame or concerned, ascending
  communicator_id communicator;
  sequence_number sequence;
  std::vector<std::string> operations;  ///< as describe() says them, by rank of `ranks` where known
  std::vector<std::string> call_sites;
  std::vector<rank_id> cycle;
  std::string text;  ///< one sentence for a person
};

}  // namespace troupe
