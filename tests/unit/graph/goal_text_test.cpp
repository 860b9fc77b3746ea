// goal_text: what the text reader takes, and what it says of the rest.
#include <catch2/catch.hpp>

#include "tests/unit/graph/goal_sample.hpp"

using namespace troupe;
using namespace troupe::goal;
using sample::parsed;
using sample::schedule_of;

namespace {

std::string in_rank(const std::string& statements, int ranks = 1) {
  auto text = "num_ranks " + std::to_string(ranks) + "\nrank 0 {\n" + statements + "}\n";
  for (int rank = 1; rank < ranks; ++rank) text += "rank " + std::to_string(rank) + " {\n}\n";
  return text;
}

/// The first problem: "line:column: text".
std::string problem_of(const std::string& text) {
  std::vector<text_problem> problems;
  const auto read = parsed(text, &problems);
  REQUIRE_FALSE(read);
  CHECK(read.error().code == errc::bad_input);
  REQUIRE_FALSE(problems.empty());
  const auto& first = problems.front();
  return std::to_string(first.where.line) + ":" + std::to_string(first.where.column) + ": "
         + first.text;
}

}  // namespace

TEST_CASE("an operation has what its statement says, and zeroes for what it does not say") {
  const auto all =
      schedule_of(in_rank("calc 5\ncalc 6 cpu 7\nsend 8b to 1\n"
                          "send 9b to 0 tag 10 cpu 11 nic 12\n"
                          "recv 13b from -1 tag -1 cpu 14 nic 15\nrecv 16b from 1\n",
                          2));
  REQUIRE(all.size() == 6);
  REQUIRE(all.ranks() == 2);
  CHECK(all.size_of(1) == 0);
  CHECK((all[0].kind == operation_kind::calc && all[0].size == 5 && all[0].cpu == 0));
  CHECK((all[1].size == 6 && all[1].cpu == 7 && all.tag(all[1]) == 0));
  CHECK((all[2].kind == operation_kind::send && all[2].peer == 1 && all.tag(all[2]) == 0));
  CHECK((all[3].peer == 0 && all.tag(all[3]) == 10 && all[3].cpu == 11 && all[3].nic == 12));
  CHECK((all[4].kind == operation_kind::recv && all[4].peer == any_source));
  CHECK((all.tag(all[4]) == any_tag && all[4].cpu == 14 && all[4].nic == 15));
  CHECK((all[5].peer == 1 && all.tag(all[5]) == 0));
}

TEST_CASE("numbers have 64 bits, cpus and nics 16, and tags below the wildcard stay themselves") {
  const auto all = schedule_of(
      in_rank("send 18446744073709551615b to 0 tag 18446744073709551614 cpu 65535 nic 256\n"
              "recv 5000000000b from 0 tag 4294967295\ncalc 00000000000000000000000007\n"));
  CHECK(all[0].size == ~std::uint64_t{0});
  CHECK(all.tag(all[0]) == any_tag - 1);
  CHECK((all[0].cpu == 65535 && all[0].nic == 256));
  CHECK(all.tag(all[1]) == 4294967295u);
  CHECK(all[2].size == 7);
}

TEST_CASE("blanks, comments, carriage returns and the order of options make no difference") {
  const auto plain =
      schedule_of(in_rank("a: calc 5 cpu 1\nb: send 8b to 0 tag 1 cpu 2\nb requires a\n"));
  for (const auto& same : {
           std::string(
               "  num_ranks\t1\r\nrank 0 {\r\n a : calc 5 cpu 1 \r\nb:send 8 b to 0 tag 1 cpu "
               "2\r\n  b requires a\r\n}\r\n\r\n"),
           std::string(
               "// x\nnum_ranks /* y */ 1 rank 0\n{ a: calc 5 cpu 1 // z\n/* two\nlines */ b: "
               "send 8b to 0 cpu 2 tag 1/**/\nb /* requires c */ requires a }"),
       }) {
    INFO(same);
    CHECK(equal(plain, schedule_of(same)));
  }
}

TEST_CASE("dependencies may be declared in any order of operations, also in a circle") {
  const auto all = schedule_of(
      in_rank("l4000000000: calc 1\nB_2: calc 2\ncalc 9\nl4000000000 requires B_2\n"
              "B_2 irequires l4000000000\nB_2 requires l4000000000\nB_2 requires B_2\n"));
  REQUIRE(all.dependents(0).size() == 2);
  CHECK(all.dependents(0)[0] == dependent(1, false));
  CHECK(all.dependents(0)[1] == dependent(1, true));
  REQUIRE(all.dependents(1).size() == 2);
  CHECK(all.dependents(1)[0] == dependent(0, false));
  CHECK(all.dependents(1)[1] == dependent(1, false));
  CHECK(all.dependents(2).empty());
  CHECK((all[0].has_start_dependents && !all[1].has_start_dependents));
}

TEST_CASE("labels are a rank's own, long ones too") {
  const auto all = schedule_of(
      "num_ranks 2\nrank 0 {\na: calc 1\na_very_long_label_indeed: calc 2\n"
      "a_very_long_label_indeed requires a\n}\nrank 1 {\na_very_long_label_indeed: calc 1\n}\n");
  CHECK(all.dependents(0).size() == 1);
  CHECK_THAT(
      problem_of("num_ranks 2\nrank 0 {\na: calc 1\n}\nrank 1 {\nb: calc 1\nb requires a\n}\n"),
      Catch::Matchers::StartsWith("7:12: expected a label of this rank"));
}

TEST_CASE("what is wrong is said with its place and what was expected") {
  const std::pair<const char*, const char*> cases[] = {
      {"", "1:1: expected num_ranks, found the end of the file"},
      {"rank 0 {\n}\n", "1:1: expected num_ranks, found 'rank'"},
      {"num_ranks 0\n", "1:11: expected at least one rank, found 0"},
      {"num_ranks -1\n", "1:11: expected the number of ranks, found '-1'"},
      {"num_ranks 99999999999\n", "1:11: expected the number of ranks, found a number above"},
      {"num_ranks 1073741824\nrank 0 {\ncalc 1\n}\n",
       "5:1: expected 'rank 1 {' (num_ranks is 1073741824), found the end of the file"},
      {"num_ranks 2\nrank 1 {\n}\n", "2:1: expected 'rank 0 {' (num_ranks is 2), found rank 1"},
      {"num_ranks 1\ncalc 5\n", "2:1: expected 'rank 0 {' (num_ranks is 1), found 'calc'"},
      {"num_ranks 1\nrank 0 {\n}\nrank 1 {\n}\n",
       "4:1: expected the end of the file behind rank 0, found 'rank'"},
      {"num_ranks 1\nrank 0 {\ncalc 1\n", "4:1: expected a statement or '}', found the end of"},
      {"num_ranks 2\nrank 0 {\ncalc 1\nrank 1 {\n}\n", "4:1: expected '}' before the next rank"},
      {"num_ranks 1\nrank 0 {\ncalc 1 /* no end", "3:17: expected"},
      {"num_ranks 1\nrank 0 {\ncalc\n}\n", "3:5: expected ':' behind a label, or a statement"},
      {"num_ranks 1\nrank 0 {\ncalc -5\n}\n", "3:6: expected a number of ns, found '-5'"},
      {"num_ranks 1\nrank 0 {\ncalc 5 nic 1\n}\n",
       "3:8: expected cpu, the end of the line or '}', found 'nic'"},
      {"num_ranks 1\nrank 0 {\ncalc 5 cpu 65536\n}\n",
       "3:12: expected a cpu, found a number above 65535"},
      {"num_ranks 1\nrank 0 {\ncalc 5 cpu 1 cpu 1\n}\n", "3:14: expected the end of the line"},
      {"num_ranks 1\nrank 0 {\ncalc 5 calc 6\n}\n", "3:8: expected cpu, the end of the line"},
      {"num_ranks 1\nrank 0 {\n_a: calc 5\n}\n", "3:1: expected a label, calc, send, recv or '}'"},
      {"num_ranks 1\nrank 0 {\n1: calc 5\n}\n", "3:1: expected a label, calc, send, recv or '}'"},
      {"num_ranks 1\nrank 0 {\na: wait 5\n}\n", "3:4: expected calc, send or recv, found 'wait'"},
      {"num_ranks 1\nrank 0 {\na: calc 5\n a: calc 5\n}\n", "4:2: label a is there already"},
      {"num_ranks 1\nrank 0 {\na: calc 5\na requires b\n}\n",
       "4:12: expected a label of this rank"},
      {"num_ranks 1\nrank 0 {\nb requires a\n}\n", "3:1: expected a label of this rank"},
      {"num_ranks 1\nrank 0 {\na: calc 5\na requires\n}\n",
       "4:11: expected a label, found the end"},
      {"num_ranks 1\nrank 0 {\nsend 8 to 0\n}\n", "3:8: expected 'b' behind the number of bytes"},
      {"num_ranks 1\nrank 0 {\nsend 8b from 0\n}\n", "3:9: expected to, found 'from'"},
      {"num_ranks 1\nrank 0 {\nsend 8b to 1\n}\n", "3:12: expected a rank below 1, found 1"},
      {"num_ranks 1\nrank 0 {\nsend 8b to -1\n}\n", "3:12: expected a rank, found '-1'"},
      {"num_ranks 1\nrank 0 {\nrecv 8b from -2\n}\n", "3:14: expected a rank, or -1 for any"},
      {"num_ranks 1\nrank 0 {\nsend 8b to 0 tag -1\n}\n", "3:18: expected a tag, found '-1'"},
      {"num_ranks 1\nrank 0 {\nsend 8b to 0 tag 18446744073709551615\n}\n",
       "3:18: expected a tag, found a number above 18446744073709551614"},
      {"num_ranks 1\nrank 0 {\nsend 99999999999999999999999b to 0\n}\n",
       "3:6: expected a number of bytes, found a number above"},
      {"num_ranks 1\nrank 0 {\n\x01\n}\n", "found the byte 0x01"},
  };
  for (const auto& [text, said] : cases) {
    INFO(text);
    CHECK_THAT(problem_of(text), Catch::Matchers::Contains(said));
  }
}

TEST_CASE("several errors are found in one reading, and not without end") {
  std::vector<text_problem> problems;
  auto read = parsed(in_rank("calc x\ncalc 1\nsend 5 to 0\nfoo\n"), &problems);
  REQUIRE_FALSE(read);
  REQUIRE(problems.size() == 3);
  CHECK(problems[1].where.line == 5);
  CHECK(problems[2].where.line == 6);
  CHECK_THAT(read.error().context, Catch::Matchers::Contains("a.goal:3:6: expected a number of ns, "
                                                             "found 'x' (and 2 more)"));
  problems.clear();
  CHECK_FALSE(parsed("num_ranks 2\nrank 0 {\ncalc 1\nrank 1 {\ncalc 2\n}\n", &problems));
  CHECK(problems.size() == 1);
  problems.clear();
  read = parsed(in_rank("a: calc x\nb: wait 1\nb requires a\na requires c\n"), &problems);
  REQUIRE(problems.size() == 3);
  CHECK(problems[2].where.line == 6);
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "calc\n";
  problems.clear();
  CHECK_FALSE(parsed(in_rank(many), &problems));
  CHECK(problems.size() == text_problems_max);
}

TEST_CASE("a text longer than the reader's block is read as if it were in one piece") {
  std::string statements;
  for (int i = 0; i < 40'000; ++i) {
    statements += "l" + std::to_string(i) + ": calc " + std::to_string(i) + " /* "
                  + std::string(i % 50, 'x') + " */\n";
    if (i > 0) statements += "l" + std::to_string(i) + " requires l" + std::to_string(i - 1) + "\n";
  }
  const auto all = schedule_of(in_rank(statements));
  REQUIRE(all.size() == 40'000);
  for (std::uint32_t i = 0; i + 1 < all.size(); ++i) {
    REQUIRE(all[i].size == i);
    REQUIRE(all.dependents(i).size() == 1);
    REQUIRE(all.dependents(i)[0] == dependent(i + 1, false));
  }
  const auto gap = std::string(600'000, ' '), comment = "/*" + std::string(600'000, '\n') + "*/";
  CHECK(schedule_of(in_rank("calc" + gap + "5\n" + comment + "calc 6\n")).size() == 2);
  CHECK_THAT(problem_of(in_rank(comment + "calc x\n")),
             Catch::Matchers::StartsWith("600003:8: expected a number of ns"));
  CHECK_THAT(problem_of(in_rank(std::string(3'000, 'a') + ": calc 1\n")),
             Catch::Matchers::Contains("fewer than 1000 characters"));
}

TEST_CASE("a schedule written as text reads back equal") {
  std::mt19937_64 chance(3);
  for (int round = 0; round < 500; ++round) {
    const auto one = sample::random_schedule(chance, round % 2 == 0);
    const auto text = sample::text_of(one);
    INFO(text);
    REQUIRE(equal(one, schedule_of(text)));
  }
}
