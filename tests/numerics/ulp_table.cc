// Prints the tables of docs/numerics.md: for each function and format the promised bound and the
// greatest error measured, one table for the interpreter and one for compiled code (the worst of
// all CPU levels that this machine can run).
//
//   ulp_table [POINTS]      arguments where not all are tried; 2^14 without it

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "compiler/ir/module.h"
#include "tests/numerics/ulp_measure.h"

namespace intent::numerics {
namespace {

constexpr DType kColumns[] = {DType::kF64,  DType::kF32,    DType::kF16,
                              DType::kBF16, DType::kF8E5M2, DType::kF8E4M3FN};

struct Cell {
  double bound = 0, measured = 0;
};

void Print(size_t points) {
  std::map<std::string, std::map<DType, Cell>> tables[2];
  std::vector<std::string> order;
  std::map<std::pair<DType, bool>, size_t> counts;
  for (bool unary : {true, false}) {
    for (DType dtype : kColumns) {
      for (const Measurement& m : Measure(dtype, unary, points)) {
        counts[{dtype, unary}] = m.points;
        if (std::find(order.begin(), order.end(), m.function->name) == order.end()) {
          order.push_back(m.function->name);
        }
        for (const Worst& worst : m.worst) {
          Cell& cell =
              tables[worst.implementation == "interpreter" ? 0 : 1][m.function->name][dtype];
          cell.bound = worst.bound;
          cell.measured = std::max(cell.measured, worst.ulps);
        }
      }
    }
  }
  for (int table = 0; table < 2; ++table) {
    std::printf("%s\n\n| function |", table == 0 ? "Interpreter" : "CPU");
    for (DType dtype : kColumns) std::printf(" %s |", std::string(DTypeName(dtype)).c_str());
    std::printf("\n|---|");
    for (size_t i = 0; i < std::size(kColumns); ++i) std::printf("---|");
    std::printf("\n");
    for (const std::string& name : order) {
      std::printf("| %s |", name.substr(name.find('.') + 1).c_str());
      for (DType dtype : kColumns) {
        const Cell& cell = tables[table][name][dtype];
        std::printf(" %.4g (%.4g) |", cell.bound, cell.measured);
      }
      std::printf("\n");
    }
    std::printf("\n");
  }
  for (const auto& [key, count] : counts) {
    std::printf("%s %s: %zu arguments\n", std::string(DTypeName(key.first)).c_str(),
                key.second ? "unary" : "binary", count);
  }
}

}  // namespace
}  // namespace intent::numerics

int main(int argc, char** argv) {
  intent::numerics::Print(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : size_t{1} << 14);
  return 0;
}
