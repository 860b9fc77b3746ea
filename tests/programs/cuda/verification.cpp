// verification: nccl-tests' checks on the host device, for every type and reduction: vectors are
// filled, reduced for real and found right; with one byte changed, one element is found wrong.
//
// Its kernels are registered by the names that nvcc gives nccl-tests' own. Exit 1 and a line for
// what is not so.
#include <cstdint>
#include <list>
#include <map>
#include <string>

#include "tests/programs/cuda/nccl.hpp"

extern "C" {
void** __cudaRegisterFatBinary(void*);
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*,
                            dim3*, int*);
}

namespace {

/// A kernel of the unnamed namespace, which nvcc names for the file.
const void* kernel(const std::string& name) {
  static std::map<std::string, char> stubs;
  static std::list<std::string> names;
  static void** binary = __cudaRegisterFatBinary(nullptr);
  const auto [at, is_new] = stubs.emplace(name, 0);
  if (is_new) {
    names.push_back("_ZN46_GLOBAL__N__1f2e3d4c_13_verifiable_cu_9abcdef0" + name);
    __cudaRegisterFunction(binary, &at->second, nullptr, names.back().c_str(), -1, nullptr, nullptr,
                           nullptr, nullptr, nullptr);
  }
  return &at->second;
}

struct number {
  ncclDataType_t type;
  const char *name, *word;
  std::size_t size;
  bool is_float;
};
constexpr number numbers[] = {{ncclInt8, "a", "h", 1, false},
                              {ncclUint8, "h", "h", 1, false},
                              {ncclInt32, "i", "j", 4, false},
                              {ncclUint32, "j", "j", 4, false},
                              {ncclInt64, "l", "m", 8, false},
                              {ncclUint64, "m", "m", 8, false},
                              {ncclFloat16, "6__half", "t", 2, true},
                              {ncclBfloat16, "13__nv_bfloat16", "t", 2, true},
                              {ncclFloat8e4m3, "13__nv_fp8_e4m3", "h", 1, true},
                              {ncclFloat8e5m2, "13__nv_fp8_e5m2", "h", 1, true},
                              {ncclFloat32, "f", "j", 4, true},
                              {ncclFloat64, "d", "m", 8, true}};

struct reduction {
  ncclRedOp_t op;
  const char* name;
};
constexpr reduction reductions[] = {{ncclSum, "9ReduceSum"}, {ncclProd, "10ReduceProd"},
                                    {ncclMin, "9ReduceMin"}, {ncclMax, "9ReduceMax"},
                                    {ncclAvg, "9ReduceAvg"}, {ncclNumOps, "15ReducePreMulSum"}};

constexpr std::int64_t count = 5001;
constexpr std::uint64_t seed = 0x1234;

void launch(const member& me, const std::string& name, std::vector<void*> arguments) {
  CUDA(cudaLaunchKernel(kernel(name), dim3(3), dim3(512), arguments.data(), 0, me.stream));
}

std::string in(const number& of, const char* op) {
  return std::string("I") + of.name + "NS_" + op + "EEEvPT_lT0_";
}

/// The scalar with which members are multiplied: 1 for even ones, 2 for odd ones.
ncclRedOp_t premultiplied(const member& me, const number& of) {
  const std::uint64_t two_of_floats[] = {0x4000, 0x4000, 0x40, 0x40, 0x40000000, 1ull << 62},
                      one_of_floats[] = {0x3c00, 0x3f80, 0x38, 0x3c, 0x3f800000, 0x3ffull << 52};
  std::uint64_t scalar = me.rank % 2 ? 2 : 1;
  if (of.is_float) scalar = (me.rank % 2 ? two_of_floats : one_of_floats)[&of - numbers - 6];
  ncclRedOp_t made;
  NCCL(ncclRedOpCreatePreMulSum(&made, &scalar, of.type, ncclScalarHostImmediate, me.comm));
  return made;
}

std::int64_t wrong_of(const member& me, const number& of, const reduction& by, void* results,
                      void* expected) {
  std::int64_t *wrong = nullptr, size = count, first = 7;
  CUDA(cudaHostAlloc(reinterpret_cast<void**>(&wrong), 16, 0));
  wrong[0] = wrong[1] = 0;
  unsigned tolerance = of.is_float && by.op == ncclAvg ? 2 : 0;
  auto draws = seed;
  auto members = me.size;
  char op[4] = {};
  auto *prepared = wrong, *computed = wrong + 1;
  launch(me, std::string("14verifyPreparedI") + of.word + "EEvPKT_S3_ljPl",
         {&results, &expected, &size, &tolerance, &prepared});
  launch(
      me,
      std::string("13verifyInline2I") + of.name + of.word + "NS_" + by.name + "EEEvPKT_lT1_imljPl",
      {&results, &size, op, &members, &draws, &first, &tolerance, &computed});
  CUDA(cudaStreamSynchronize(me.stream));
  CHECK(wrong[0] == wrong[1]);
  const auto found = wrong[0];
  CUDA(cudaFreeHost(wrong));
  return found;
}

void check(const member& me, const number& of, const reduction& by) {
  void *input = nullptr, *results = nullptr, *expected = nullptr;
  for (auto* at : {&input, &results, &expected}) CUDA(cudaMalloc(at, count * of.size));
  std::int64_t size = count, first = 7;
  auto draws = seed;
  auto members = me.size, number_of_me = me.rank;
  char op[4] = {};
  launch(me, "13prepareInput2" + in(of, by.name) + "iiml",
         {&input, &size, op, &members, &number_of_me, &draws, &first});
  launch(me, "16prepareExpected2" + in(of, by.name) + "iml",
         {&expected, &size, op, &members, &draws, &first});
  CHECK(wrong_of(me, of, by, input, expected) > 0);  // what one member gives is not the result
  const auto reduce = by.op == ncclNumOps ? premultiplied(me, of) : by.op;
  NCCL(ncclAllReduce(input, results, count, of.type, reduce, me.comm, me.stream));
  if (by.op == ncclNumOps) NCCL(ncclRedOpDestroy(reduce, me.comm));
  const auto wrong = wrong_of(me, of, by, results, expected);
  if (wrong) std::fprintf(stderr, "%s %s: %ld are wrong\n", of.name, by.name, wrong);
  CHECK(wrong == 0);
  CUDA(cudaStreamSynchronize(me.stream));
  auto* byte = static_cast<unsigned char*>(results) + (count - 2) * of.size;
  *byte ^= 0x10;
  CHECK(wrong_of(me, of, by, results, expected) == 1);
  for (auto* at : {input, results, expected}) CUDA(cudaFree(at));
}

}  // namespace

int main() {
  const auto me = join_world();
  for (const auto& of : numbers)
    for (const auto& by : reductions) check(me, of, by);
  NCCL(ncclCommDestroy(me.comm));
  return 0;
}
