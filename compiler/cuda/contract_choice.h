#pragma once

// Which instructions and tile a matrix product takes (device/contract.cuh). All have blocks of
// kBlockThreads threads.

#include <string>

#include "compiler/ir/dtype.h"

namespace intent::cuda {

struct ContractChoice {
  std::string config;  // C++ type
  int rows, columns;   // of a tile
  int shared_bytes;    // of a block, aligned to 1024
};

// Elements of both sides and sums are as VerifyTile permits for the tile program's contract.
// `shares`: with other work of a task, so that several blocks should fit on a multiprocessor.
ContractChoice ChooseContract(DType left, DType right, DType sum, const std::string& architecture,
                              bool shares);

}  // namespace intent::cuda
