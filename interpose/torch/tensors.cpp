#include "interpose/torch/tensors.hpp"

#include <string>

#include "interpose/torch/refusal.hpp"
#include "interpose/torch/torch_version.hpp"

namespace troupe {

namespace {

/// Torch's types in our words; bool tells whether we have one.
bool element_of(at::ScalarType type, element_type& out) {
  switch (type) {
    case at::kDouble:
      out = element_type::f64;
      return true;
    case at::kFloat:
      out = element_type::f32;
      return true;
    case at::kHalf:
      out = element_type::f16;
      return true;
    case at::kBFloat16:
      out = element_type::bf16;
      return true;
    case at::kLong:
      out = element_type::i64;
      return true;
    case at::kInt:
      out = element_type::i32;
      return true;
    case at::kShort:
      out = element_type::i16;
      return true;
    case at::kChar:
      out = element_type::i8;
      return true;
    case at::kByte:
      out = element_type::u8;
      return true;
    case at::kBool:
      out = element_type::boolean;
      return true;
    case at::kComplexFloat:
      out = element_type::c64;
      return true;
    case at::kComplexDouble:
      out = element_type::c128;
      return true;
    default:
      return false;
  }
}

/// Since 2.9 ProcessGroupGloo takes complex numbers as pairs, in all but gather.
bool takes_complex([[maybe_unused]] operation op) {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 9)
  return op != operation::gather;
#else
  return false;
#endif
}

/// ProcessGroupGloo's GENERATE_ALL_TYPES (send and recv move bytes of any type), ProcessGroupNCCL's
/// ncclDataType (complex numbers pass as pairs), ProcessGroupMPI's mpiDatatype.
bool backend_has(semantics rules, element_type type, operation op) {
  bool complex = type == element_type::c64 || type == element_type::c128;
  switch (rules) {
    case semantics::gloo:
      if (is_point_to_point(op)) return true;
#if TORCH_VERSION_MAJOR < 2
      if (type == element_type::bf16 || type == element_type::boolean) return false;
#endif
      return (!complex || takes_complex(op)) && type != element_type::i16;
    case semantics::nccl:
      return type != element_type::i16;
    case semantics::mpi:
      return !complex && type != element_type::f16 && type != element_type::bf16
             && type != element_type::boolean;
  }
  return false;
}

/// What NCCL (since 2.24, which torch uses so since 2.8) reduces as eight-bit floats.
bool reduces_as_float8([[maybe_unused]] at::ScalarType type, [[maybe_unused]] element_type& out) {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 8)
  if (type == at::kFloat8_e4m3fn) {
    out = element_type::f8e4m3;
    return true;
  }
  if (type == at::kFloat8_e5m2) {
    out = element_type::f8e5m2;
    return true;
  }
#endif
  return false;
}

/// Types we have no word for, moved as integers of their size: any by gloo's send and recv,
/// eight-bit floats by NCCL (some of which it reduces, too).
bool has_as_bytes(semantics rules, at::ScalarType type, operation op, element_type& out) {
  const auto size = c10::elementSize(type);
  const bool has = rules == semantics::gloo
                       ? is_point_to_point(op)
                       : rules == semantics::nccl && size == 1 && at::isFloatingType(type);
  if (!has) return false;
  if (reduces(op)) return reduces_as_float8(type, out);
  switch (size) {
    case 1:
      out = element_type::u8;
      return true;
    case 2:
      out = element_type::i16;
      return true;
    case 4:
      out = element_type::i32;
      return true;
    case 8:
      out = element_type::i64;
      return true;
    default:
      return false;
  }
}

reduction named_reduction(c10d::ReduceOp::RedOpType op) {
  switch (op) {
    case c10d::ReduceOp::SUM:
    case c10d::ReduceOp::PREMUL_SUM:
      return reduction::sum;
    case c10d::ReduceOp::AVG:
      return reduction::avg;
    case c10d::ReduceOp::PRODUCT:
      return reduction::prod;
    case c10d::ReduceOp::MIN:
      return reduction::min;
    case c10d::ReduceOp::MAX:
      return reduction::max;
    case c10d::ReduceOp::BAND:
      return reduction::band;
    case c10d::ReduceOp::BOR:
      return reduction::bor;
    case c10d::ReduceOp::BXOR:
      return reduction::bxor;
    default:
      refuse("unknown ReduceOp " + std::to_string(static_cast<int>(op)));
  }
}

const char* torch_name(c10d::ReduceOp::RedOpType op) {
  constexpr const char* names[] = {"SUM",  "AVG", "PRODUCT", "MIN",       "MAX",
                                   "BAND", "BOR", "BXOR",    "PREMUL_SUM"};
  return op < std::size(names) ? names[op] : "?";
}

bool is_bitwise(reduction reduce) {
  return reduce == reduction::band || reduce == reduction::bor || reduce == reduction::bxor;
}

bool backend_has(semantics rules, c10d::ReduceOp::RedOpType op, reduction reduce,
                 [[maybe_unused]] at::ScalarType type) {
  switch (rules) {
    case semantics::gloo:
#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 8
      if (op == c10d::ReduceOp::AVG) return at::isFloatingType(type) || at::isComplexType(type);
#endif
      return op != c10d::ReduceOp::AVG && op != c10d::ReduceOp::PREMUL_SUM;
    case semantics::nccl:
      return !is_bitwise(reduce);
    case semantics::mpi:
      return op != c10d::ReduceOp::AVG && op != c10d::ReduceOp::PREMUL_SUM && !is_bitwise(reduce);
  }
  return false;
}

/// Truth values as NCCL's numbers: a sum that is not 0 is true.
reduction of_truth_values(reduction reduce) {
  switch (reduce) {
    case reduction::sum:
      return reduction::max;
    case reduction::prod:
      return reduction::min;
    case reduction::avg:
      refuse("ReduceOp.AVG of torch.bool does not exist");
    default:
      return reduce;
  }
}

}  // namespace

at::ScalarType require_dense(const tensor_list& tensors) {
  if (tensors.empty()) return at::kByte;
  auto type = tensors.front().scalar_type();
  for (auto& tensor : tensors) {
    if (tensor.layout() != at::kStrided) refuse("takes dense tensors only");
    if (!tensor.device().is_cpu())
      refuse("the tensor is on " + tensor.device().str() + ", this process has CPU memory only");
    if (tensor.scalar_type() != type)
      refuse(std::string("the tensors differ in type: ") + at::toString(type) + " and "
             + at::toString(tensor.scalar_type()));
  }
  return type;
}

element_type type_of(at::ScalarType type, semantics rules, operation op) {
  element_type element{};
  const bool known = element_of(type, element) ? backend_has(rules, element, op)
                                               : has_as_bytes(rules, type, op, element);
  if (!known)
    refuse(std::string("Invalid scalar type ") + at::toString(type) + " for backend "
           + to_string(rules));
  return element;
}

reduction reduction_of(const c10d::ReduceOp& op, at::ScalarType type, semantics rules) {
  auto named = static_cast<c10d::ReduceOp::RedOpType>(op);
  auto reduce = named_reduction(named);
  if (!backend_has(rules, named, reduce, type))
    refuse(std::string("Cannot use ReduceOp.") + torch_name(named) + " with backend "
           + to_string(rules));
  bool floats = at::isFloatingType(type), complex = at::isComplexType(type);
  if (is_bitwise(reduce) && (floats || complex))
    refuse(std::string("Cannot use ReduceOp.") + torch_name(named) + " with type "
           + at::toString(type));
  if (complex && reduce != reduction::sum && reduce != reduction::avg)  // they travel as pairs
    refuse(std::string("ReduceOp.") + torch_name(named) + " of complex numbers does not exist");
  return type == at::kBool ? of_truth_values(reduce) : reduce;
}

namespace {

/// The factor as NCCL has it: rounded to the tensors' type.
double factor_of(const c10d::ReduceOp& op, at::ScalarType type) {
  auto* given = dynamic_cast<c10d::NCCLPreMulSumSupplement*>(op.supplement_.get());
  if (!given) refuse("a PREMUL_SUM without its factor");
#if TORCH_VERSION_MAJOR >= 2
  auto& factor = given->tensor_factor;
#else
  auto factor = given->tensor_factors.empty() ? at::Tensor() : given->tensor_factors.front();
#endif
  if (!factor.defined())
    return at::scalar_tensor(given->double_factor, at::TensorOptions().dtype(type))
        .item()
        .toDouble();
  if (factor.scalar_type() != type)
    refuse(std::string("the factor of ReduceOp.PREMUL_SUM is of type ")
           + at::toString(factor.scalar_type()) + ", expected " + at::toString(type));
  if (factor.numel() == 0) refuse("the factor of ReduceOp.PREMUL_SUM has no element");
  return factor.flatten()[0].item().toDouble();
}

/// ProcessGroupNCCL's getNcclReduceOp; complex numbers are pairs of floats there.
bool can_be_premultiplied(at::ScalarType type) {
#if TORCH_VERSION_MAJOR >= 2
  if (type == at::kBFloat16) return true;
#endif
  return type == at::kHalf || type == at::kFloat || type == at::kDouble;
}

}  // namespace

tensor_list premultiplied(const c10d::ReduceOp& op, tensor_list tensors) {
  if (static_cast<c10d::ReduceOp::RedOpType>(op) != c10d::ReduceOp::PREMUL_SUM) return tensors;
  if (tensors.empty()) return tensors;
  const auto type = tensors.front().scalar_type(), of_parts = c10::toRealValueType(type);
  if (!can_be_premultiplied(of_parts))
    refuse(std::string("Cannot use ReduceOp.PREMUL_SUM with type ") + at::toString(type));
  at::NoGradGuard no_grad;
  const double factor = factor_of(op, of_parts);
  for (auto& tensor : tensors) tensor = tensor.mul(factor);
  return tensors;
}

std::uint64_t elements_in(const tensor_list& tensors) {
  std::uint64_t sum = 0;
  for (auto& tensor : tensors) sum += static_cast<std::uint64_t>(tensor.numel());
  return sum;
}

input_pieces::input_pieces(const tensor_list& tensors) {
  at::NoGradGuard no_grad;
  for (auto& tensor : tensors) {
    held_.push_back(tensor.resolve_conj().resolve_neg().contiguous());
    list_.push_back({held_.back().data_ptr(), held_.back().nbytes()});
  }
}

output_pieces::output_pieces(tensor_list tensors) : wanted_(std::move(tensors)) {
  for (auto& tensor : wanted_) {
    bool in_place = tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg();
    laid_.push_back(in_place ? tensor : at::empty(tensor.sizes(), tensor.options()));
    list_.push_back({laid_.back().data_ptr(), laid_.back().nbytes()});
  }
}

void output_pieces::copy_back() {
  at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < wanted_.size(); ++i)
    if (!laid_[i].is_same(wanted_[i])) wanted_[i].copy_(laid_[i]);
}

}  // namespace troupe
