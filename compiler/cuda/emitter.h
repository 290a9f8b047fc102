#pragma once

// The state of one emission, shared by emit*.cc.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "compiler/cuda/emit.h"
#include "compiler/cuda/launch_expression.h"
#include "compiler/cuda/multiples.h"
#include "compiler/tile/places.h"

namespace intent::cuda {

// C++ of a value in registers, and of an element in memory.
std::string TypeName(DType dtype);
std::string MemoryName(DType dtype);

// Where all blocks find what one thread found.
inline constexpr int64_t kBroadcastBytes = 64;

// Who runs the code being emitted.
struct Unit {
  int threads = 1;          // 1, 32 or kBlockThreads
  bool whole_grid = false;  // outside of `parallel`: every block computes it, the first acts
  std::string leave;        // the statement that ends a task, or the kernel
  std::string scratch;      // name of the scratch allocator's prefix: "launch" or "unit"
};

// What of memory has been touched since the last barrier.
struct Touched {
  static constexpr int64_t kBroadcast = -3;  // a place: where all find what one thread found
  tile::Places read, written;
  bool one_thread = true;  // all writes are scalars of the first thread

  void Merge(const Touched& other);
};

class Emitter {
 public:
  // `assumed`: null for the program that serves all calls.
  Emitter(const tile::Program& program, const EmitOptions& options,
          const lower::Assumptions* assumed = nullptr);
  absl::StatusOr<CudaSource> Run();

 private:
  using Id = tile::Id;
  using Op = tile::Op;
  using Block = tile::Block;

  // --- emit.cc: the kernel and its units.
  std::string Kernel();
  void EmitArguments();
  void EmitBlock(const Block& block);
  void EmitOp(const Op& op);
  void EmitParallel(const Op& op);
  void EmitInnerParallel(const Op& op);
  void EmitTask(const Op& op, const std::string& number);
  void EmitGuard(const Op& op);
  void EmitFence();
  void NoteMemory(const Block& block);
  void Rematerialize(const Block& body);
  std::string Prologue() const;

  // --- emit_values.cc: elementwise operations.
  std::string In(const Op& op, size_t i);  // of lane e, or a scalar
  std::string Value(Id id);
  std::string Array(Id id);  // an array of the thread's lanes
  std::string Literal(const ScalarValue& value);
  std::string Expression(const Op& op);
  void NoteType(DType dtype);
  void EmitElementwise(const Op& op);
  void EmitAcrossLanes(const Op& op);
  bool EmitInThread(const Op& op);
  bool EmitInWarp(const Op& op);
  // A mask of the lanes below a limit: the limit. kNoId: some other.
  Id LimitOf(Id mask) const;
  bool IsSmall(Id index) const;
  void EmitTailMask(const Op& op, Id limit);
  // Lanes of one thread are in the mask together.
  bool IsWholeInThreads(Id mask);

  // --- emit_memory.cc
  void TakeScratch(const Op& op, const std::string& count);
  void EmitAlloc(const Op& op);
  void EmitStackAlloc(const Op& op);
  void EmitAccess(const Op& op);
  void EmitAtomic(const Op& op);
  std::string Address(const Op& op, const std::string& lane);

  // --- emit_contract.cc: matrix products.
  struct Linear;
  bool IsGlobal(Id memory) const;
  void EmitContract(const Op& op);
  void EmitUniform(const Block& region, std::set<Id>* varying);
  std::optional<Linear> LinearOf(Id id, Id own, Id inner, const std::set<Id>& varying);
  void EmitOperand(const Block& region, const std::set<Id>& varying, const std::string& name);
  void EmitElement(const Block& region, const std::set<Id>& varying, Id value);
  void EmitSums(const Block& region, const std::set<Id>& varying);

  // --- emit_control.cc
  void EmitFor(const Op& op);
  void EmitWhile(const Op& op);
  void EmitIf(const Op& op);
  std::vector<std::string> DeclareCarries(const Op& op, size_t first_init);
  void BindArguments(const Block& block, size_t first, const std::vector<std::string>& names);
  void Assign(const Block& block, const std::vector<std::string>& names);
  bool Allocates(const Block& block) const;
  std::string Mark(const Block& a, const Block* b);
  void Release(const std::string& mark);

  // --- phases.cc: barriers of the grid.
  void Collect(const Op& op, Touched* touched) const;
  void EnterPhase(const Op& op);
  void EnterLoop(const std::vector<const Block*>& bodies);
  void Barrier();

  // --- scratch.cc: launch recipes.
  // Of one iteration of a body that units of so many threads run.
  LaunchExpression ScratchOf(const Block& block, int threads, bool grid);
  bool SlotInScratch(const Op& op, int threads, bool grid) const;
  void NoteGrid(const Op& op, int threads);
  void NoteContractGrid(const Op& op, int rows, int columns);
  void NoteBlocks(LaunchExpression blocks);
  // The call's arguments decide, and few calls make it so: launches for the others leave out what
  // happens then. Branches without an alternative may ask for shapes, too.
  bool NoteDetour(Id condition, bool branch);
  struct Sizes {
    LaunchExpression launch, block;
  };
  Sizes ScratchSizes();
  // All of them behind `condition`, if there is one.
  std::vector<compile::v1::Variant> Variants(const LaunchExpression& condition);

  // Text.
  void Line(const std::string& text);
  void Open(const std::string& text);
  void Close(const std::string& after = "");
  static std::string Name(Id id) { return "v" + std::to_string(id); }
  void Refuse(const std::string& what);

  const tile::Type& type(Id id) const { return program_.type(id); }
  int Lanes(Id id) const { return program_.type(id).lanes; }
  bool IsTile(Id id) const { return !type(id).IsMem() && Lanes(id) > 1; }
  // Lanes that a thread of the unit has of a tile.
  int Own(int lanes) const { return lanes > unit_.threads ? lanes / unit_.threads : 1; }
  std::string LanesOf(Id id) const;  // "LANES(4) "
  std::string UnitText() const { return std::to_string(unit_.threads); }
  std::string Declare(Id id, const std::string& name) const;
  // One thread acts for all: the condition, empty in a unit of one.
  std::string Leader() const;
  void ActAlone(const std::string& statement);
  std::string Exchange(int bytes, bool anywhere = false);

  const tile::Program& program_;
  const EmitOptions& options_;
  LaunchBounds bounds_;
  const lower::Assumptions* const assumed_;
  Multiples multiples_;
  std::string entry_ = "intent_kernel";
  absl::Status status_;
  std::string text_;
  int depth_ = 0;
  Unit unit_;
  uint32_t ordinal_ = kNoOrdinal;
  // Values that are written where they are used: constants, splats, lane numbers.
  std::unordered_map<Id, std::string> inlined_;
  Touched touched_;
  bool fenced_ = true;  // nothing was accessed since the unit's last fence
  int labels_ = 0;
  int exchange_bytes_ = 0;  // of a block
  int warp_exchange_ = 0;   // of a warp
  int contract_bytes_ = 0;  // of shared memory, for matrix products
  bool products_in_tasks_ = false;
  bool parts_fail_ = false;  // at a guard
  int64_t slots_ = 0;        // of the program
  int64_t ops_ = 0;
  tile::Places atomics_;  // what atomics of the program touch
  bool takes_block_scratch_ = false;
  bool barriers_ = false;
  bool detour_barriers_ = false;  // only on detours
  bool in_detour_ = false;
  bool coarse_ = false;                              // bounds are
  std::set<Id> detours_;                             // conditions
  LaunchExpression any_detour_;                      // one of them holds; null: there are none
  std::vector<std::pair<const Block*, int>> tasks_;  // bodies of `parallel`, with their threads
  bool broadcasts_ = false;      // a word of launch scratch passes on what one thread found
  bool private_memory_ = false;  // of the unit being emitted
  std::set<std::string> headers_;
  LaunchExpression grid_;
};

}  // namespace intent::cuda
