#include "tests/gpu/atomics_check.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>

#include "compiler/ir/module.h"
#include "compiler/ir/rmw_kind.h"
#include "compiler/numerics/scalar.h"

namespace intent::gpu_test {
namespace {

constexpr DType kIntegers[] = {DType::kI8, DType::kI16, DType::kI32, DType::kI64,
                               DType::kU8, DType::kU16, DType::kU32, DType::kU64};
constexpr RmwKind kRmwKinds[] = {
#define INTENT_RMW(name, text) RmwKind::name,
#include "compiler/ir/kinds.def"
#undef INTENT_RMW
};
constexpr MemoryOrder kOrders[] = {MemoryOrder::kRelaxed, MemoryOrder::kAcquire,
                                   MemoryOrder::kRelease, MemoryOrder::kAcqRel};
constexpr size_t kCells = 7;  // a part of a word lies in every place, neighbours beside it
constexpr unsigned kBlocks = 8;
constexpr size_t kThreads = kBlocks * 256;
constexpr size_t kRounds = 2000;  // of message passing

std::string KernelName(DType dtype, const std::string& operation, MemoryOrder order) {
  return std::string(DTypeName(dtype)) + "_" + operation + "_" + std::string(NameOf(order));
}

std::string Order(MemoryOrder order) { return "Order::" + std::string(NameOf(order)); }

ScalarValue ValueOf(DType dtype, size_t thread) {
  return numerics::MakeInteger(dtype, static_cast<int64_t>(thread * 2654435761u));
}

// Flags are small numbers, so that 8 bits count rounds modulo 128. Data is plain. A block that
// waits for ever gives up and counts that.
std::string MessagesSource(const std::string& type) {
  return "extern \"C\" __global__ void " + type + "_messages(u64* data, " + type +
         "* flags, u64* wrong) {\n  __shared__ bool lost;\n  if (threadIdx.x == 0) lost = "
         "false;\n" +
         "  for (u64 round = 1; round <= " + std::to_string(kRounds) + "; ++round) {\n    const " +
         type + " mine = " + type + R"((round % 128);
    if (blockIdx.x == 0) {
      data[threadIdx.x] = round;
      __syncthreads();
      if (threadIdx.x == 0) {
        atomic_store<Order::release, Scope::device>(flags, mine);
        lost = !arrives(flags + 1, mine);
      }
      __syncthreads();
      if (lost) break;
    } else {
      if (threadIdx.x == 0) lost = !arrives(flags, mine);
      __syncthreads();
      if (lost) break;
      if (data[threadIdx.x] != round) atomicAdd(wrong, 1ull);
      __syncthreads();
      if (threadIdx.x == 0) atomic_store<Order::release, Scope::device>(flags + 1, mine);
    }
  }
  if (lost && threadIdx.x == 0) atomicAdd(wrong, 1ull << 32);
}
)";
}

class Check {
 public:
  Check(const DeviceSession& session, const Kernels& kernels, Tally* tally)
      : session_(session), kernels_(kernels), tally_(tally) {}

  // Thread i modifies cell i % kCells with ValueOf(i) and keeps what it saw.
  void Modify(DType dtype, RmwKind kind, MemoryOrder order) {
    const auto size = static_cast<size_t>(StorageBytes(dtype));
    const std::string name = KernelName(dtype, std::string(NameOf(kind)), order);
    std::vector<uint8_t> before(kCells * size);
    for (size_t cell = 0; cell < kCells; ++cell) {
      numerics::StoreScalar(ValueOf(dtype, cell + 1000), &before[cell * size]);
    }
    const Buffer cells(session_.driver(), before), seen(session_.driver(), kThreads * size);
    kernels_.Launch(name, kBlocks, std::vector<uint64_t>{cells.address(), seen.address()});
    const std::vector<uint8_t> after = cells.Read(), olds = seen.Read();
    for (size_t cell = 0; cell < kCells; ++cell) {
      const ScalarValue first = numerics::LoadScalar(dtype, &before[cell * size]);
      const ScalarValue last = numerics::LoadScalar(dtype, &after[cell * size]);
      ScalarValue folded = first;
      // Of values: every one that was there was seen once, or is there still.
      std::map<uint64_t, int> balance = {{static_cast<uint64_t>(first.bits), 1}};
      --balance[static_cast<uint64_t>(last.bits)];
      for (size_t i = cell; i < kThreads; i += kCells) {
        const ScalarValue value = ValueOf(dtype, i);
        ++balance[static_cast<uint64_t>(value.bits)];
        --balance[static_cast<uint64_t>(numerics::LoadScalar(dtype, &olds[i * size]).bits)];
        if (kind != RmwKind::kExchange) {
          folded = numerics::EvalBinary(CombineOf(kind), folded, value);
        }
      }
      const bool right = kind != RmwKind::kExchange
                             ? last == folded
                             : std::all_of(balance.begin(), balance.end(),
                                           [](const auto& entry) { return entry.second == 0; });
      if (!right) return tally_->Add(name + ": wrong in cell " + std::to_string(cell));
    }
    tally_->Add("");
  }

  // Every thread adds 1 to its cell by compare-and-swap.
  void Count(DType dtype, MemoryOrder order) {
    const auto size = static_cast<size_t>(StorageBytes(dtype));
    const std::string name = KernelName(dtype, "cas", order);
    const Buffer cells(session_.driver(), std::vector<uint8_t>(kCells * size));
    kernels_.Launch(name, kBlocks, std::vector<uint64_t>{cells.address()});
    const std::vector<uint8_t> after = cells.Read();
    for (size_t cell = 0; cell < kCells; ++cell) {
      const auto count = static_cast<int64_t>((kThreads - cell + kCells - 1) / kCells);
      if (numerics::LoadScalar(dtype, &after[cell * size]) == numerics::MakeInteger(dtype, count)) {
        continue;
      }
      return tally_->Add(name + ": wrong count in cell " + std::to_string(cell));
    }
    tally_->Add("");
  }

  // One block publishes rounds of plain data by releases; another reads them after acquires and
  // says so.
  void PassMessages(DType dtype) {
    const std::string name = std::string(DTypeName(dtype)) + "_messages";
    const Buffer data(session_.driver(), std::vector<uint8_t>(256 * sizeof(uint64_t)));
    const Buffer flags(session_.driver(), std::vector<uint8_t>(2 * 64));
    const Buffer wrong(session_.driver(), std::vector<uint8_t>(sizeof(uint64_t)));
    kernels_.Launch(name, 2,
                    std::vector<uint64_t>{data.address(), flags.address(), wrong.address()});
    uint64_t count = 0;
    std::memcpy(&count, wrong.Read().data(), sizeof(count));
    tally_->Add(count == 0 ? "" : name + ": " + std::to_string(count) + " stale reads");
  }

 private:
  const DeviceSession& session_;
  const Kernels& kernels_;
  Tally* tally_;
};

}  // namespace

std::string AtomicsSource() {
  std::string text = R"(#include "intent/atomics.cuh"
using namespace intent;
template <class T> __device__ T value_of(u64 thread) { return T(thread * 2654435761ull); }
template <class T> __device__ bool arrives(const T* flag, T wanted) {
  for (int spin = 0; spin < 1 << 22; ++spin) {
    if (atomic_load<Order::acquire, Scope::device>(flag) == wanted) return true;
  }
  return false;
}
)";
  const std::string cells = std::to_string(kCells);
  for (DType dtype : kIntegers) {
    const std::string type(DTypeName(dtype));
    for (MemoryOrder order : kOrders) {
      for (RmwKind kind : kRmwKinds) {
        const std::string operation(NameOf(kind));
        text += "extern \"C\" __global__ void " + KernelName(dtype, operation, order) + "(" + type +
                "* cells, " + type +
                "* seen) {\n  const u64 i = blockIdx.x * 256 + threadIdx.x;\n" +
                "  seen[i] = atomic_rmw_" + operation + "<" + Order(order) +
                ", Scope::device>(cells + i % " + cells + ", value_of<" + type + ">(i));\n}\n";
      }
      text += "extern \"C\" __global__ void " + KernelName(dtype, "cas", order) + "(" + type +
              "* cells) {\n  " + type + "* cell = cells + (blockIdx.x * 256 + threadIdx.x) % " +
              cells + ";\n  " + type +
              " old = atomic_load<Order::relaxed, Scope::device>(cell);\n" +
              "  for (;;) {\n    const " + type + " found = atomic_cas<" + Order(order) +
              ", Scope::device>(cell, old, " + type + "(old + 1));\n" +
              "    if (found == old) return;\n    old = found;\n  }\n}\n";
    }
    text += MessagesSource(std::string(DTypeName(dtype)));
  }
  return text;
}

void CheckAtomics(const DeviceSession& session, const Images& images, Tally* tally) {
  const absl::StatusOr<std::string> image = images.Atomics();
  if (!image.ok()) {
    std::cerr << image.status() << "\n";
    std::exit(1);
  }
  const Kernels kernels(session.driver(), *image);
  Check check(session, kernels, tally);
  for (DType dtype : kIntegers) {
    for (MemoryOrder order : kOrders) {
      for (RmwKind kind : kRmwKinds) check.Modify(dtype, kind, order);
      check.Count(dtype, order);
    }
    check.PassMessages(dtype);
  }
}

}  // namespace intent::gpu_test
