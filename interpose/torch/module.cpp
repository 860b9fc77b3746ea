// troupe_c10d: the Python module: make a backend, make a store; the rest is torch's own interfaces.
//
// Its users are the import hook's patches (python/troupe_hook). The lock is released around
// whatever may block.
#include <torch/csrc/jit/python/pybind_utils.h>
#include <torch/csrc/utils/pybind.h>

#include <pybind11/chrono.h>
#include <pybind11/stl.h>

#include <stdexcept>

#include "interpose/torch/backend.hpp"
#include "interpose/torch/call_site.hpp"
#include "interpose/torch/gil.hpp"
#include "interpose/torch/store.hpp"
#include "interpose/torch/watched_futures.hpp"

namespace py = pybind11;

namespace troupe {

namespace {

semantics rules_named(const std::string& backend) {
  for (auto rules : {semantics::gloo, semantics::nccl, semantics::mpi})
    if (backend == to_string(rules)) return rules;
  throw std::runtime_error("no rules for a backend named " + backend);
}

/// `members`: the run's ranks in the group's order; `rank`: this process's place among them.
c10::intrusive_ptr<c10d_base> make_backend(const std::vector<std::uint32_t>& members, int rank,
                                           const std::string& backend, const std::string& name,
                                           std::chrono::milliseconds timeout) {
  auto rules = rules_named(backend);
  std::uint64_t communicator = 0;
  without_gil unlocked;
  if (troupe_open_communicator(members.data(), static_cast<std::uint32_t>(members.size()),
                               static_cast<std::uint8_t>(rules), name.c_str(), &communicator)
      != 0)
    throw std::runtime_error("group " + name + ": " + troupe_error());
  return c10::make_intrusive<troupe_backend>(rank, static_cast<int>(members.size()), communicator,
                                             rules, timeout);
}

}  // namespace

}  // namespace troupe

PYBIND11_MODULE(troupe_c10d, module) {
  using future_ptr = std::shared_ptr<torch::jit::PythonFutureWrapper>;
  module.doc() = "Troupe's c10d backend and store.";
  py::module::import("torch.distributed");  // the base classes' bindings
  module.def("make_backend", &troupe::make_backend, py::arg("members"), py::arg("rank"),
             py::arg("backend"), py::arg("name"), py::arg("timeout"));
  py::class_<troupe::store, c10d::Store, c10::intrusive_ptr<troupe::store>>(module, "store")
      .def(py::init<std::string, std::chrono::milliseconds>(), py::arg("name"), py::arg("timeout"));
  module.def("watch_child", [](const future_ptr& parent, const future_ptr& child) {
    troupe::without_gil unlocked;
    troupe::watch_child(*parent->fut, *child->fut);
  });
  // Returns when what the future waits for is done; errors are the future's to tell.
  module.def("await_operations", [](const future_ptr& awaited) {
    troupe::without_gil unlocked;
    for (auto operation : troupe::watched_operations(*awaited->fut)) troupe_wait(operation, 0);
  });
  // True after others had their turn; false for a future of somebody else's.
  module.def("others_first", [](const future_ptr& polled) {
    troupe::without_gil unlocked;
    return !troupe::watched_operations(*polled->fut).empty() && troupe_yield() == 0;
  });
  module.def("waits_on_futures_are_seen", &troupe::waits_on_futures_are_seen);
  module.def("exclude_from_call_sites", &troupe::exclude_from_call_sites);
  module.def("call_site", &troupe::call_site);
}
