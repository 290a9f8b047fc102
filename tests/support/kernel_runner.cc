#include "tests/support/kernel_runner.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "compiler/cpu/emit.h"
#include "compiler/cpu/kernel_fixture.h"
#include "compiler/cpu/loader.h"
#include "compiler/cuda/emit.h"
#include "compiler/interp/interp.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/scalar_text.h"
#include "compiler/numerics/scalar.h"
#include "compiler/runtime/kernel_runtime.h"
#include "compiler/specialize/specialize.h"
#include "compiler/target/target.h"
#include "compiler/tile/fence_check.h"
#include "compiler/tile/parse.h"
#include "compiler/tile/print.h"
#include "compiler/tile/tile_interp.h"
#include "compiler/tile/verify_tile.h"
#include "compiler/verify/verify.h"
#include "tests/support/cuda_way.h"
#include "tests/support/emulator.h"

namespace intent::testing {
namespace {

constexpr int64_t kArenaBytes = int64_t{1} << 28;

std::string Join(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) text += ToString(diagnostic) + "\n";
  return text;
}

Way TileWay(int vector_bits) {
  Way way;
  way.name = "tile interpreter, " + std::to_string(vector_bits) + " bits";
  way.lowering.vector_bits = vector_bits;
  way.lowering.vector_registers = vector_bits == 512 ? 32 : 16;
  // Regions in few and in many slices, tiles of few rows; at 512 bits and in optimised code as the
  // lowering chooses.
  way.lowering.region_slice = vector_bits == 512 ? 0 : 2 + vector_bits / 32;
  way.lowering.owned_rows = vector_bits == 512 ? 0 : 1 + vector_bits / 64;
  return way;
}

// As for CUDA, by blocks of few threads.
Way UnitsWay() {
  Way way;
  way.name = "tile interpreter, units of 64 threads";
  way.lowering.block_threads = 64;
  way.lowering.vector_bits = 128;
  way.lowering.region_slice = 3;
  way.lowering.owned_rows = 2;
  return way;
}

// Rows in registers: of few lanes, so that small data take several tiles. Whoever does not meet
// what that takes for granted runs the ordinary program.
Way HeldRowsWay(bool short_rows, bool check_fences) {
  Way way = UnitsWay();
  way.name += short_rows ? ", rows held by warps" : ", rows held by blocks";
  if (check_fences) way.name += ", fences checked";
  way.lowering.vector_bits = 32;
  way.lowering.short_rows = short_rows;
  way.lowering.row_tiles = 3;
  way.check_fences = check_fences;
  return way;
}

// Few lanes a thread, so that small data are spread over many.
Way FencesWay() {
  Way way = UnitsWay();
  way.name = "tile interpreter, units of 64 threads, fences checked";
  way.lowering.vector_bits = 32;
  way.check_fences = true;
  return way;
}

Way CompiledWay(const std::string& target, int opt_level, int threads) {
  const CpuFacts facts = FactsOf(*ParseTarget(target));
  Way way;
  way.code = target + " O" + std::to_string(opt_level);
  way.name = way.code + (threads > 1 ? " threaded" : "");
  way.target = target;
  way.opt_level = opt_level;
  way.threads = threads;
  const bool optimise = opt_level > 0;
  way.lowering.vector_bits = optimise ? facts.vector_bits : 0;
  way.lowering.vector_registers = facts.vector_registers;
  way.lowering.materialize_all = !optimise;
  way.lowering.parallel = optimise;
  way.lowering.row_groups = optimise;
  way.lowering.packed_contractions = optimise;
  way.lowering.owned_axes = optimise;
  way.lowering.fuse_multiply_add = optimise && facts.fma;
  way.lowering.region_slice = threads > 1 ? 2 : opt_level == 0 ? 3 : opt_level == 1 ? 64 : 0;
  way.lowering.owned_rows = opt_level == 1 ? 5 : 0;
  return way;
}

Emulator& SharedEmulator() {
  static Emulator emulator;
  return emulator;
}

EmulatedCall CallOf(const Function& function, const CallData& data) {
  EmulatedCall call;
  for (const Allocation& allocation : data.allocations)
    call.allocations.push_back(allocation.bytes);
  size_t view = 0;
  for (const Parameter& parameter : function.parameters) {
    if (!parameter.type.IsView()) continue;
    const ViewPlace& place = data.views[view++];
    const int64_t size = StorageBytes(parameter.type.dtype());
    call.views.push_back(
        {place.allocation, place.offset * size, size, place.extents, place.strides});
  }
  for (const ScalarValue& scalar : data.scalars) {
    call.scalars.push_back(static_cast<uint64_t>(scalar.bits));
  }
  return call;
}

// The structures of the C ABI over a call's own copy of the data.
struct Bound {
  Bound(const Function& function, const CallData& data) : allocations(data.allocations) {
    size_t view = 0;
    for (const Parameter& parameter : function.parameters) {
      if (!parameter.type.IsView()) continue;
      const ViewPlace& place = data.views[view++];
      const int64_t size = StorageBytes(parameter.type.dtype());
      int64_t low = 0, high = 0;
      bool empty = false;
      for (size_t axis = 0; axis < place.extents.size(); ++axis) {
        const int64_t reach = (place.extents[axis] - 1) * place.strides[axis] * size;
        empty = empty || place.extents[axis] == 0;
        (reach < 0 ? low : high) += reach;
      }
      views.push_back({allocations[place.allocation].bytes.data() + place.offset * size,
                       place.extents.data(), place.strides.data(), empty ? 0 : low,
                       empty ? 0 : high + size});
    }
    for (const ScalarValue& scalar : data.scalars) {
      scalars.push_back(static_cast<uint64_t>(scalar.bits));
    }
  }

  std::vector<Allocation> allocations;
  std::vector<intent_view> views;
  std::vector<uint64_t> scalars;
  intent_error error = {};
};

// Positions of views among the parameters.
int32_t ParameterOfView(const Function& function, int32_t view) {
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    if (function.parameters[i].type.IsView() && view-- == 0) return static_cast<int32_t>(i);
  }
  return -1;
}

// A condition on overlaps. Views of one allocation are taken to overlap.
bool Holds(const tile::Program& program, tile::Id condition, const CallData& data) {
  const tile::Op& op = *program.definition(condition);
  const auto operand = [&](size_t i) { return Holds(program, op.operands[i], data); };
  const auto view = [&](int64_t at) -> const ViewPlace& {
    return data.views[static_cast<size_t>(at)];
  };
  switch (op.kind) {
    case tile::OpKind::kOverlap:
      return view(op.index).allocation == view(op.axis).allocation;
    case tile::OpKind::kSameView:
      return view(op.index).allocation == view(op.axis).allocation &&
             view(op.index).offset == view(op.axis).offset &&
             view(op.index).extents == view(op.axis).extents &&
             view(op.index).strides == view(op.axis).strides;
    case tile::OpKind::kUnary:
      return !operand(0);
    default:
      return op.binary == BinaryKind::kAnd ? operand(0) && operand(1) : operand(0) || operand(1);
  }
}

// What rows in registers take for granted, but for addresses, which are nothing to the tile
// interpreter.
bool Meets(const lower::Lowered& lowered, const CallData& data) {
  for (const ViewPlace& view : data.views) {
    if (!view.strides.empty() && view.strides.back() != 1) return false;
  }
  for (tile::Id condition : lowered.assumed.excluded) {
    if (Holds(*lowered.program, condition, data)) return false;
  }
  const std::vector<lower::Assumptions::Row>& rows = lowered.assumed.rows;
  return std::all_of(rows.begin(), rows.end(), [&](const lower::Assumptions::Row& row) {
    const tile::Op* op = lowered.program->definition(row.extent);
    if (op == nullptr || op->kind != tile::OpKind::kViewExtent) return false;
    const int64_t extent =
        data.views[static_cast<size_t>(op->index)].extents[static_cast<size_t>(op->axis)];
    return extent >= 1 && extent <= row.most;
  });
}

bool SameElement(DType dtype, const uint8_t* a, const uint8_t* b, const Tolerance& tolerance) {
  if (std::memcmp(a, b, static_cast<size_t>(StorageBytes(dtype))) == 0) return true;
  if (!IsFloat(dtype)) return false;
  const double x = numerics::AsDouble(numerics::LoadScalar(dtype, a));
  const double y = numerics::AsDouble(numerics::LoadScalar(dtype, b));
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  if (x == y) return true;
  if (std::isinf(x) || std::isinf(y)) return false;
  return std::fabs(x - y) <= tolerance.absolute + tolerance.relative * std::fabs(x);
}

// Marks the bytes that the views with write access may touch.
std::vector<std::vector<bool>> WritableBytes(const Function& function, const CallData& data) {
  std::vector<std::vector<bool>> writable;
  for (const Allocation& allocation : data.allocations) {
    writable.emplace_back(allocation.bytes.size(), false);
  }
  size_t view = 0;
  for (const Parameter& parameter : function.parameters) {
    if (!parameter.type.IsView()) continue;
    const ViewPlace& place = data.views[view++];
    if (parameter.type.access() == Access::kIn) continue;
    const int64_t size = StorageBytes(parameter.type.dtype());
    int64_t count = 1;
    for (int64_t extent : place.extents) count *= extent;
    for (int64_t linear = 0; linear < count; ++linear) {
      int64_t rest = linear, element = place.offset;
      for (size_t axis = place.extents.size(); axis-- > 0;) {
        element += rest % place.extents[axis] * place.strides[axis];
        rest /= place.extents[axis];
      }
      for (int64_t byte = 0; byte < size; ++byte) {
        writable[place.allocation][static_cast<size_t>(element * size + byte)] = true;
      }
    }
  }
  return writable;
}

}  // namespace

const std::vector<Way>& AllWays() {
  static const std::vector<Way> kWays = [] {
    std::vector<Way> ways;
    Way plain = TileWay(0);
    plain.name = "tile interpreter, plain";
    plain.lowering.materialize_all = true;
    plain.lowering.region_slice = 1;
    plain.lowering.parallel = false;
    plain.lowering.row_groups = false;
    plain.lowering.packed_contractions = false;
    plain.lowering.owned_axes = false;
    plain.lowering.fuse_multiply_add = false;
    ways.push_back(plain);
    for (int bits : {0, 128, 256, 512}) ways.push_back(TileWay(bits));
    Way unfused = TileWay(256);
    unfused.name += ", everything in memory";
    unfused.lowering.materialize_all = true;
    ways.push_back(unfused);
    for (const Way& units : {UnitsWay(), FencesWay()}) {
      ways.push_back(units);
      ways.push_back(units);
      ways.back().name += ", short rows";
      ways.back().lowering.short_rows = true;
    }
    ways.push_back(HeldRowsWay(false, false));
    ways.push_back(HeldRowsWay(false, true));
    ways.push_back(HeldRowsWay(true, true));
    const std::vector<std::string> targets = cpu::RunnableTargets();
    // Compiling is what takes time: each level of optimisation once, each target at its best.
    ways.push_back(CompiledWay(targets.front(), 0, 1));
    ways.push_back(CompiledWay(targets.back(), 1, 1));
    for (const std::string& target : targets) ways.push_back(CompiledWay(target, 2, 1));
    ways.push_back(CompiledWay(targets.back(), 2, 4));
    return ways;
  }();
  return kWays;
}

const std::vector<Way>& EmulatedWays() {
  static const std::vector<Way> kWays = [] {
    std::vector<Way> ways;
    if (MissingOnHost(*ParseTarget("aarch64")).empty() || !Emulator::Missing().empty()) return ways;
    ways.push_back(CompiledWay("aarch64", 0, 1));
    ways.push_back(CompiledWay("aarch64", 2, 1));
    return ways;
  }();
  return kWays;
}

const std::vector<Way>& CudaWays() {
  static const std::vector<Way> kWays = [] {
    std::vector<Way> ways;
    if (!CompilesCuda()) return ways;
    Way way;
    way.name = RunsCuda() ? "CUDA" : "CUDA, compiled only";
    way.target = CudaTarget();
    ways.push_back(way);
    return ways;
  }();
  return kWays;
}

std::unique_ptr<TestKernel> TestKernel::Parse(const std::string& text, std::string* error) {
  ParsedModule parsed = ParseModule(text);
  if (!parsed.ok()) {
    *error = Join(parsed.diagnostics);
    return nullptr;
  }
  std::unique_ptr<TestKernel> kernel = Make(*parsed.module, error);
  if (kernel != nullptr) kernel->map_ = std::move(parsed.source_map);
  return kernel;
}

std::unique_ptr<TestKernel> TestKernel::Make(const Module& module, std::string* error) {
  std::vector<Diagnostic> diagnostics = Verify(module);
  auto kernel = std::make_unique<TestKernel>();
  kernel->module_ = Clone(module);
  if (diagnostics.empty()) diagnostics = Specialize(kernel->module_.get(), {});
  if (!diagnostics.empty()) {
    *error = Join(diagnostics);
    return nullptr;
  }
  kernel->canonical_ = Clone(*kernel->module_);
  Canonicalize(kernel->canonical_.get());
  return kernel;
}

Outcome TestKernel::Interpret(const CallData& data) const {
  Outcome outcome;
  outcome.allocations = data.allocations;
  std::vector<interp::Argument> arguments;
  size_t view = 0, scalar = 0;
  for (const Parameter& parameter : function().parameters) {
    if (!parameter.type.IsView()) {
      arguments.emplace_back(data.scalars[scalar++]);
      continue;
    }
    const ViewPlace& place = data.views[view++];
    Allocation& allocation = outcome.allocations[place.allocation];
    arguments.emplace_back(
        interp::ViewArgument{.dtype = parameter.type.dtype(),
                             .allocation = allocation.bytes.data(),
                             .allocation_bytes = static_cast<int64_t>(allocation.bytes.size()),
                             .offset = place.offset,
                             .extents = place.extents,
                             .strides = place.strides});
  }
  interp::Options options;
  options.max_steps = 10'000'000;
  if (const auto error = interp::Run(*module_, arguments, options)) {
    outcome.failed = true;
    outcome.ordinal = error->ordinal;
    outcome.parameter = error->parameter;
    outcome.axis = error->axis;
    outcome.message = std::string(NameOf(error->kind)) + ": " + error->message;
  }
  return outcome;
}

struct TestKernel::Ready {
  // The program for calls that meet what it takes for granted, or the one for all.
  const tile::Program* ProgramFor(const CallData& data) const {
    return special.program != nullptr && Meets(special, data) ? special.program.get()
                                                              : program.get();
  }
  ~Ready() {
    if (!library.empty()) std::remove(library.c_str());
  }
  std::string refusal;
  std::unique_ptr<tile::Program> program;     // the tile interpreter's
  lower::Lowered special;                     // likewise, with rows in registers
  std::unique_ptr<cpu::LoadedKernel> kernel;  // compiled
  std::string library;                        // compiled for another architecture
  CudaCode cuda;
};

TestKernel::TestKernel() = default;
TestKernel::~TestKernel() = default;

const TestKernel::Ready& TestKernel::ReadyFor(const Way& way) const {
  std::unique_ptr<Ready>& slot = ready_[way.code.empty() ? way.name : way.code];
  if (slot != nullptr) return *slot;
  slot = std::make_unique<Ready>();
  Ready& ready = *slot;
  const bool is_cuda = !way.target.empty() && ParseTarget(way.target)->kind == TargetKind::kCuda;
  lower::LowerOptions options = is_cuda ? cuda::Lowering(*canonical_) : way.lowering;
  if (way.lowering.row_tiles > 0) {
    ready.special = lower::LowerToTiles(*canonical_, way.lowering);
    if (const absl::Status status = tile::VerifyTile(*ready.special.program); !status.ok()) {
      ready.refusal = "tile program: " + std::string(status.message());
      return ready;
    }
    options.row_tiles = 0;
    options.short_rows = false;
  }
  const lower::Lowered lowered = lower::LowerToTiles(*canonical_, options);
  const tile::Program& program = *lowered.program;
  if (const absl::Status status = tile::VerifyTile(program); !status.ok()) {
    ready.refusal = "tile program: " + std::string(status.message()) + "\n" + tile::Print(program);
    return ready;
  }
  if (way.target.empty()) {
    // Through the text form and back, which must lose nothing.
    auto again = tile::Parse(tile::Print(program));
    if (!again.ok()) {
      ready.refusal = "tile text: " + std::string(again.status().message());
    } else {
      ready.program = *std::move(again);
    }
    return ready;
  }
  if (is_cuda) {
    ready.cuda = CompileCuda(*canonical_, lowered);
    ready.refusal = ready.cuda.refusal;
    return ready;
  }
  cpu::EmitOptions emission;
  emission.opt_level = way.opt_level;
  const auto object = cpu::EmitObject(program, *ParseTarget(way.target), emission);
  if (!object.ok()) {
    ready.refusal = "emit: " + std::string(object.status().message());
    return ready;
  }
  if (!MissingOnHost(*ParseTarget(way.target)).empty()) {
    auto library = SharedEmulator().Link(object->object);
    if (!library.ok()) ready.refusal = "link: " + std::string(library.status().message());
    if (library.ok()) ready.library = *std::move(library);
    return ready;
  }
  auto kernel = cpu::LinkAndLoad(*object);
  if (!kernel.ok()) {
    ready.refusal = "load: " + std::string(kernel.status().message());
  } else {
    ready.kernel = *std::move(kernel);
  }
  return ready;
}

Outcome TestKernel::Run(const CallData& data, const Way& way) const {
  const Ready& ready = ReadyFor(way);
  if (!ready.refusal.empty()) {
    Outcome outcome;
    outcome.failed = true;
    outcome.message = ready.refusal;
    return outcome;
  }
  if (way.target == CudaTarget()) {
    return ready.cuda.kernel != nullptr ? RunCuda(*ready.cuda.kernel, function(), data)
                                        : Interpret(data);
  }
  Bound bound(function(), data);
  int32_t status = 0;
  if (ready.program != nullptr) {
    const intent_call call = {bound.views.data(), bound.scalars.data(), &cpu::SerialRuntime(),
                              nullptr, &bound.error};
    const tile::Program& program = *ready.ProgramFor(data);
    if (way.check_fences) {
      tile::FenceChecker checker(program, &call, way.lowering.block_threads);
      status = tile::Interpret(program, &call, &checker);
      if (checker.conflict()) {
        Outcome outcome;
        outcome.failed = true;
        outcome.message = *checker.conflict();
        return outcome;
      }
    } else {
      status = tile::Interpret(program, &call);
    }
  } else if (!ready.library.empty()) {
    EmulatedCall call = CallOf(function(), data);
    const auto run = SharedEmulator().Run(ready.library, &call);
    if (!run.ok()) {
      Outcome outcome;
      outcome.failed = true;
      outcome.message = std::string(run.status().message());
      return outcome;
    }
    status = *run;
    bound.error = call.error;
    for (size_t i = 0; i < call.allocations.size(); ++i) {
      bound.allocations[i].bytes = std::move(call.allocations[i]);
    }
  } else {
    static KernelRuntime serial(1, kArenaBytes), threaded(4, kArenaBytes);
    KernelRuntime& runtime = way.threads > 1 ? threaded : serial;
    status =
        runtime.Run(ready.kernel->entry(),
                    {.views = bound.views.data(), .scalars = bound.scalars.data()}, &bound.error);
  }
  Outcome outcome;
  outcome.failed = status != 0;
  outcome.allocations = std::move(bound.allocations);
  if (outcome.failed) {
    outcome.ordinal = bound.error.ordinal;
    outcome.parameter = ParameterOfView(function(), bound.error.parameter);
    outcome.axis = bound.error.axis;
    outcome.message = "status " + std::to_string(status) + ", value " +
                      std::to_string(bound.error.value) + ", limit " +
                      std::to_string(bound.error.limit);
  }
  return outcome;
}

std::string TestKernel::Difference(const Outcome& expected, const Outcome& got,
                                   const CallData& data) const {
  if (expected.failed != got.failed) {
    return expected.failed
               ? "did not fail, but should: " + expected.message
               : "failed: " + got.message + " at operation " + std::to_string(got.ordinal);
  }
  if (expected.failed && (expected.ordinal != got.ordinal || expected.parameter != got.parameter ||
                          expected.axis != got.axis)) {
    const auto where = [](const Outcome& outcome) {
      return "operation " + std::to_string(outcome.ordinal) + " parameter " +
             std::to_string(outcome.parameter) + " axis " + std::to_string(outcome.axis) + " (" +
             outcome.message + ")";
    };
    return "failed at " + where(got) + " instead of " + where(expected);
  }
  std::vector<std::vector<bool>> free;
  if (expected.failed) free = WritableBytes(function(), data);
  for (size_t i = 0; i < expected.allocations.size(); ++i) {
    const Allocation& want = expected.allocations[i];
    const Allocation& have = got.allocations[i];
    const size_t size = static_cast<size_t>(StorageBytes(want.dtype));
    for (size_t at = 0; at + size <= want.bytes.size(); at += size) {
      if (expected.failed && free[i][at]) continue;
      if (SameElement(want.dtype, want.bytes.data() + at, have.bytes.data() + at, want.tolerance)) {
        continue;
      }
      return "allocation " + std::to_string(i) + " element " + std::to_string(at / size) + " is " +
             ElementText(want.dtype, have.bytes.data() + at) + " instead of " +
             ElementText(want.dtype, want.bytes.data() + at);
    }
  }
  return "";
}

std::string TestKernel::Disagreement(const CallData& data, const std::vector<Way>& ways) const {
  const Outcome expected = Interpret(data);
  for (const Way& way : ways) {
    const std::string difference = Difference(expected, Run(data, way), data);
    if (!difference.empty()) return way.name + ": " + difference;
  }
  return "";
}

std::vector<uint8_t> Encode(DType dtype, const std::vector<double>& values) {
  const size_t size = static_cast<size_t>(StorageBytes(dtype));
  std::vector<uint8_t> bytes(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i) {
    const ScalarValue value = IsFloat(dtype)
                                  ? numerics::MakeFloat(dtype, values[i])
                                  : numerics::MakeInteger(dtype, static_cast<__int128>(values[i]));
    numerics::StoreScalar(value, bytes.data() + i * size);
  }
  return bytes;
}

std::string ElementText(DType dtype, const uint8_t* address) {
  const ScalarValue value = numerics::LoadScalar(dtype, address);
  if (IsFloat(dtype)) return std::to_string(numerics::AsDouble(value));
  return std::to_string(static_cast<long long>(numerics::AsInteger(value)));
}

}  // namespace intent::testing
