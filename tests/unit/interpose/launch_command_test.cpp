// Command lines of launchers: which they are, and how many ranks they start.
#include "interpose/launch/launch_command.hpp"

#include <catch2/catch.hpp>

#include <sstream>

using namespace troupe;

namespace {

result<launch_command> recognized(const std::string& line) {
  std::istringstream words(line);
  std::vector<std::string> command;
  for (std::string word; words >> word;) command.push_back(word);
  return recognize_launcher(command);
}

void check(const std::string& line, const std::string& name, std::uint32_t world) {
  INFO(line);
  const auto found = recognized(line);
  REQUIRE(found);
  CHECK(found->name == name);
  CHECK(found->world == world);
}

}  // namespace

TEST_CASE("launchers are known by their name, and say how many ranks they start") {
  check("torchrun --nproc_per_node=4 train.py", "torchrun", 4);
  check("/usr/bin/torchrun --standalone --nproc-per-node 4 --nnodes 1 train.py --nproc_per_node 9",
        "torchrun", 4);
  check("torchrun --nnodes=1:1 --max_restarts 0 train.py", "torchrun", 1);
  check("torchrun -m --nproc_per_node 3 package.train", "torchrun", 3);
  check("torchrun --nproc_per_node auto train.py", "torchrun", 0);
  check("python3 -m torch.distributed.run --nproc_per_node=2 train.py", "torch.distributed.run", 2);
  check("python3.11 -W ignore -u -m torch.distributed.launch --use_env --nproc_per_node 2 train.py",
        "torch.distributed.launch", 2);
  check("accelerate launch --multi_gpu --num_processes 8 train.py", "accelerate launch", 8);
  check("accelerate launch --enable_cpu_affinity --num_processes 8 train.py", "accelerate launch",
        8);
  check("accelerate launch train.py", "accelerate launch", 0);
  check("mpirun --allow-run-as-root -x PATH -n 4 python3 train.py", "mpirun", 4);
  check("mpiexec.openmpi -np 2 ./ring", "mpiexec.openmpi", 2);
  check("mpirun ./ring", "mpirun", 0);
}

TEST_CASE("everything else is a program of its own") {
  check("python3 train.py -m torch.distributed.run", "", 0);
  check("python3 -m train --nproc_per_node 4", "", 0);
  check("accelerate config", "", 0);
  check("./torchrun.sh", "", 0);
}

TEST_CASE("a launcher that is told of other machines is refused") {
  for (const auto* line :
       {"torchrun --nnodes 2 --nproc_per_node 4 train.py",
        "torchrun --nnodes=1:4 --nproc_per_node 4 train.py",
        "accelerate launch --num_machines 2 train.py", "mpirun -n 1 ./first : -n 2 ./second"}) {
    INFO(line);
    const auto found = recognized(line);
    REQUIRE(!found);
    CHECK(found.error().code == errc::usage);
  }
}
