#include "compiler/cpu/lanes.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include "compiler/diag/check.h"

namespace intent::cpu {
namespace {

llvm::Type* Lanewise(llvm::Type* element, int lanes) {
  return lanes == 1 ? element : llvm::FixedVectorType::get(element, lanes);
}

}  // namespace

llvm::Type* Lanes::Register(DType dtype, int lanes) const {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* element = llvm::Type::getIntNTy(context, BitWidth(dtype));
  if (dtype == DType::kF32) element = llvm::Type::getFloatTy(context);
  if (dtype == DType::kF64) element = llvm::Type::getDoubleTy(context);
  return Lanewise(element, lanes);
}

llvm::Type* Lanes::Memory(DType dtype) const {
  if (dtype == DType::kF32 || dtype == DType::kF64) return Register(dtype, 1);
  return llvm::Type::getIntNTy(module.getContext(), 8 * StorageBytes(dtype));
}

int Lanes::Count(V value) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector == nullptr ? 1 : static_cast<int>(vector->getNumElements());
}

llvm::Type* Lanes::With(V like, llvm::Type* element) const {
  return Lanewise(element, Count(like));
}
llvm::Type* Lanes::FloatOf(V like) const { return With(like, b.getFloatTy()); }
llvm::Type* Lanes::DoubleOf(V like) const { return With(like, b.getDoubleTy()); }
llvm::Type* Lanes::IntOf(V like, int bits) const { return With(like, b.getIntNTy(bits)); }

V Lanes::F(V like, double value) const { return llvm::ConstantFP::get(like->getType(), value); }
V Lanes::I(V like, uint64_t value) const { return llvm::ConstantInt::get(like->getType(), value); }

V Lanes::Constant(const ScalarValue& value, int lanes) const {
  const int bits = BitWidth(value.dtype);
  const uint64_t words[2] = {static_cast<uint64_t>(value.bits),
                             static_cast<uint64_t>(value.bits >> 64)};
  const llvm::APInt integer = llvm::APInt(128, words).trunc(bits);
  llvm::Constant* scalar = llvm::ConstantInt::get(module.getContext(), integer);
  if (value.dtype == DType::kF32 || value.dtype == DType::kF64) {
    scalar = llvm::ConstantFP::get(
        module.getContext(), llvm::APFloat(value.dtype == DType::kF32 ? llvm::APFloat::IEEEsingle()
                                                                      : llvm::APFloat::IEEEdouble(),
                                           integer));
  }
  if (lanes == 1) return scalar;
  return llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(lanes), scalar);
}

V Lanes::Add(V x, V y) const { return b.CreateFAdd(x, y); }
V Lanes::Sub(V x, V y) const { return b.CreateFSub(x, y); }
V Lanes::Mul(V x, V y) const { return b.CreateFMul(x, y); }
V Lanes::Div(V x, V y) const { return b.CreateFDiv(x, y); }
V Lanes::Abs(V x) const { return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); }
V Lanes::Sqrt(V x) const { return b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x); }
V Lanes::CopySign(V magnitude, V sign) const {
  return b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude, sign);
}

V Lanes::Fma(V x, V y, V z) const {
  if (facts.fma) return b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z});
  if (x->getType()->getScalarType()->isDoubleTy()) return PerLane("fma", {x, y, z});
  // The product of two f32 is exact in f64; rounding the sum to odd leaves one rounding to f32.
  const V product = Mul(Widen(x), Widen(y));
  const V addend = Widen(z);
  const V sum = Add(product, addend);
  // The error of the sum (Knuth): exact, or NaN where the sum is not finite.
  const V back = Sub(sum, product);
  const V error = Add(Sub(product, Sub(sum, back)), Sub(addend, back));
  const V bits = Bits(sum);
  const V inexact = b.CreateFCmpONE(error, F(error, 0));
  const V even = b.CreateICmpEQ(b.CreateAnd(bits, I(bits, 1)), I(bits, 0));
  // Towards the error: up in magnitude if the signs agree.
  const V agree = b.CreateICmpSGE(b.CreateXor(Bits(error), bits), I(bits, 0));
  const V odd = b.CreateAdd(bits, Select(agree, I(bits, 1), I(bits, ~uint64_t{0})));
  return Narrow(FromBits(Select(b.CreateAnd(inexact, even), odd, bits)));
}

V Lanes::Mad(V x, V y, V z) const { return facts.fma ? Fma(x, y, z) : Add(Mul(x, y), z); }

V Lanes::Polynomial(V x, std::initializer_list<double> coefficients) const {
  const double* c = coefficients.end();
  V sum = F(x, *--c);
  while (c != coefficients.begin()) sum = Mad(sum, x, F(x, *--c));
  return sum;
}

V Lanes::Bits(V x) const {
  return b.CreateBitCast(x, IntOf(x, static_cast<int>(x->getType()->getScalarSizeInBits())));
}
V Lanes::FromBits(V x) const {
  return b.CreateBitCast(x, x->getType()->getScalarSizeInBits() == 32 ? FloatOf(x) : DoubleOf(x));
}
V Lanes::Select(V condition, V x, V y) const { return b.CreateSelect(condition, x, y); }
V Lanes::IsNan(V x) const { return b.CreateFCmpUNO(x, x); }
V Lanes::Less(V x, V y) const { return b.CreateFCmpOLT(x, y); }
V Lanes::Any(V mask) const { return Count(mask) == 1 ? mask : b.CreateOrReduce(mask); }
V Lanes::Widen(V x) const { return b.CreateFPExt(x, DoubleOf(x)); }
V Lanes::Narrow(V x) const { return b.CreateFPTrunc(x, FloatOf(x)); }
V Lanes::Splat(V scalar, int lanes) const {
  return lanes == 1 ? scalar : b.CreateVectorSplat(static_cast<unsigned>(lanes), scalar);
}

V Lanes::InPieces(const std::vector<V>& values, int size,
                  const std::function<V(const std::vector<V>&)>& instruction) const {
  const int count = Count(values[0]);
  if (count == size) return instruction(values);
  std::vector<V> results;
  for (int first = 0; first < count; first += size) {
    std::vector<V> part;
    for (V value : values) {
      auto* piece = llvm::FixedVectorType::get(value->getType()->getScalarType(),
                                               static_cast<unsigned>(size));
      V zeros = llvm::Constant::getNullValue(piece);
      if (count == 1) {
        part.push_back(b.CreateInsertElement(zeros, value, uint64_t{0}));
        continue;
      }
      std::vector<int> pick;
      for (int i = 0; i < size; ++i) pick.push_back(std::min(first + i, count));
      part.push_back(
          b.CreateShuffleVector(value, llvm::Constant::getNullValue(value->getType()), pick));
    }
    results.push_back(instruction(part));
  }
  if (count == 1) return b.CreateExtractElement(results[0], uint64_t{0});
  V joined = results.size() == 1 ? results[0] : llvm::concatenateVectors(b, results);
  if (Count(joined) == count) return joined;
  std::vector<int> head;
  for (int i = 0; i < count; ++i) head.push_back(i);
  return b.CreateShuffleVector(joined, head);
}

V Lanes::Slot(llvm::Type* type, int alignment) const {
  llvm::BasicBlock& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> at(&entry, entry.getFirstInsertionPt());
  llvm::AllocaInst* slot = at.CreateAlloca(type);
  slot->setAlignment(llvm::Align(static_cast<uint64_t>(alignment)));
  return slot;
}

V Lanes::OpenSlot(llvm::Type* type, int alignment) const {
  V slot = Slot(type, alignment);
  b.CreateLifetimeStart(slot, b.getInt64(module.getDataLayout().getTypeAllocSize(type)));
  return slot;
}

void Lanes::CloseSlot(V slot) const {
  llvm::Type* type = llvm::cast<llvm::AllocaInst>(slot)->getAllocatedType();
  b.CreateLifetimeEnd(slot, b.getInt64(module.getDataLayout().getTypeAllocSize(type)));
}

namespace {

// A function of libm on doubles. LLVM must not know it by name: it would trade it for others.
llvm::FunctionCallee Libm(llvm::Module& module, const std::string& name, size_t arguments) {
  llvm::Type* real = llvm::Type::getDoubleTy(module.getContext());
  llvm::FunctionCallee callee = module.getOrInsertFunction(
      name, llvm::FunctionType::get(real, std::vector<llvm::Type*>(arguments, real), false));
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotThrow();
  function->addFnAttr(llvm::Attribute::NoBuiltin);
  return callee;
}

// void lanes.<name>(arguments..., result, count): one loop per libm function, shared by all its
// uses.
llvm::Function* LaneLoop(llvm::Module& module, const std::string& name, size_t arguments) {
  const std::string symbol = "lanes." + name;
  if (llvm::Function* known = module.getFunction(symbol)) return known;
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* real = llvm::Type::getDoubleTy(context);
  llvm::Type* index = llvm::Type::getInt64Ty(context);
  llvm::FunctionCallee callee = Libm(module, name, arguments);
  std::vector<llvm::Type*> parameters(arguments + 1, llvm::PointerType::getUnqual(context));
  parameters.push_back(index);
  auto* function = llvm::Function::Create(
      llvm::FunctionType::get(llvm::Type::getVoidTy(context), parameters, false),
      llvm::GlobalValue::InternalLinkage, symbol, module);
  function->addFnAttr(llvm::Attribute::NoInline);
  function->setDoesNotThrow();
  auto* entry = llvm::BasicBlock::Create(context, "entry", function);
  auto* body = llvm::BasicBlock::Create(context, "lane", function);
  auto* done = llvm::BasicBlock::Create(context, "done", function);
  llvm::IRBuilder<> b(entry);
  b.CreateBr(body);
  b.SetInsertPoint(body);
  llvm::PHINode* lane = b.CreatePHI(index, 2);
  std::vector<V> values;
  for (size_t i = 0; i < arguments; ++i) {
    values.push_back(b.CreateLoad(real, b.CreateGEP(real, function->getArg(i), lane)));
  }
  b.CreateStore(b.CreateCall(callee, values),
                b.CreateGEP(real, function->getArg(static_cast<unsigned>(arguments)), lane));
  V next = b.CreateAdd(lane, b.getInt64(1));
  lane->addIncoming(b.getInt64(0), entry);
  lane->addIncoming(next, body);
  b.CreateCondBr(b.CreateICmpULT(next, function->getArg(static_cast<unsigned>(arguments) + 1)),
                 body, done);
  b.SetInsertPoint(done);
  b.CreateRetVoid();
  return function;
}

}  // namespace

V Lanes::PerLane(const std::string& name, std::vector<V> arguments) const {
  const bool single = arguments[0]->getType()->getScalarType()->isFloatTy();
  if (single) {
    for (V& argument : arguments) argument = Widen(argument);
  }
  const int count = Count(arguments[0]);
  V result;
  if (count == 1) {
    result = b.CreateCall(Libm(module, name, arguments.size()), arguments);
  } else {
    llvm::Function* loop = LaneLoop(module, name, arguments.size());
    std::vector<V> slots;
    for (V argument : arguments) {
      slots.push_back(OpenSlot(argument->getType(), 64));
      b.CreateStore(argument, slots.back());
    }
    const V out = OpenSlot(arguments[0]->getType(), 64);
    slots.push_back(out);
    std::vector<V> operands = slots;
    operands.push_back(b.getInt64(static_cast<uint64_t>(count)));
    b.CreateCall(loop, operands);
    result = b.CreateLoad(arguments[0]->getType(), out);
    for (V slot : slots) CloseSlot(slot);
  }
  return single ? Narrow(result) : result;
}

}  // namespace intent::cpu
