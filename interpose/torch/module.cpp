// troupe_c10d: the Python module: make a backend, make a store; the rest is torch's own interfaces.
//
// Its users are the import hook's patches (python/troupe_hook). The lock is released around
// whatever may block.
#include <torch/csrc/jit/python/pybind_utils.h>
#include <torch/csrc/utils/pybind.h>

#include <pybind11/chrono.h>
#include <pybind11/stl.h>

#include <cstdlib>
#include <string_view>

#include "interpose/torch/backend.hpp"
#include "interpose/torch/call_site.hpp"
#include "interpose/torch/counted_allocator.hpp"
#include "interpose/torch/gil.hpp"
#include "interpose/torch/refusal.hpp"
#include "interpose/torch/store.hpp"
#include "interpose/torch/watched_futures.hpp"

namespace py = pybind11;

namespace troupe {

namespace {

/// The rules of that backend, or those that `troupe run --semantics` names.
semantics rules_for(std::string backend) {
  const char* said = std::getenv("TROUPE_SEMANTICS");
  if (said && *said && std::string_view{said} != "asked") backend = said;
  for (auto rules : {semantics::gloo, semantics::nccl, semantics::mpi})
    if (backend == to_string(rules)) return rules;
  refuse("no rules for a backend named " + backend);
}

/// `members`: the run's ranks in the group's order; `rank`: this process's place among them.
c10::intrusive_ptr<c10d_base> make_backend(std::vector<std::uint32_t> members, int rank,
                                           const std::string& backend, std::string name,
                                           std::chrono::milliseconds timeout) {
  auto rules = rules_for(backend);
  without_gil unlocked;
  return troupe_backend::open({std::move(members), rank, rules, std::move(name), backend}, timeout);
}

}  // namespace

}  // namespace troupe

PYBIND11_MODULE(troupe_c10d, module) {
  using future_ptr = std::shared_ptr<torch::jit::PythonFutureWrapper>;
  module.doc() = "Troupe's c10d backend and store.";
  py::module::import("torch.distributed");  // the base classes' bindings
  module.def("make_backend", &troupe::make_backend, py::arg("members"), py::arg("rank"),
             py::arg("backend"), py::arg("name"), py::arg("timeout"));
  // What the group asked for; torch asks its own classes whether this is one of theirs.
  py::class_<troupe::troupe_backend, troupe::c10d_base, c10::intrusive_ptr<troupe::troupe_backend>>(
      module, "backend")
      .def_property_readonly("asked", &troupe::troupe_backend::asked)
      .def_property_readonly_static("is_per_device",
                                    [](py::object) { return TORCH_VERSION_MAJOR >= 2; })
#if TORCH_VERSION_MAJOR >= 2
      // Of the classes torch takes this one for: what it holds ends with it or with the run.
      .def("_set_default_timeout", &troupe::troupe_backend::setTimeout)
      .def("_shutdown", [](troupe::troupe_backend&) {})
#endif
      ;
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
  // The allocator's address, as torch's storages take it.
  module.def("count_tensors", &troupe::count_tensors, py::arg("capacity"), py::arg("for_cuda"));
  module.def("limit_tensors", [](std::uint64_t capacity) { troupe::tensors().limit(capacity); });
  module.def("tensor_bytes", [] { return troupe::tensors().held(); });
  module.def("tensor_bytes_peak", [] { return troupe::tensors().peak(); });
  module.def("tensor_refusals", [] { return troupe::tensors().refusals(); });
  module.def("reset_tensor_peak", [] { troupe::tensors().reset_peak(); });
  module.def("waits_on_futures_are_seen", &troupe::waits_on_futures_are_seen);
  module.def("exclude_from_call_sites", &troupe::exclude_from_call_sites);
  module.def("call_site", &troupe::call_site);
}
