// lgamma, the logarithm of |Gamma|, on f32 and f64 lanes, in f64. Coefficients are minimax fits of
// ours, of relative error below 2^-53.
//
// Above 8, Stirling's series. Below, steps of one lead to 2 + u with |u| <= 1/2, where lgamma is u
// times a polynomial: so its zeros at 1 and 2 keep their relative precision. Below -1/2,
// reflection. There lgamma has a zero on either side of every pole, where reflection cancels:
// harmless for f32, but f64 lanes above -40, beyond which no f64 lies near a zero, take the
// logarithm of a product in double-double arithmetic instead.

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <cmath>

#include "compiler/cpu/lanes.h"

namespace intent::cpu {
namespace {

constexpr double kHalfLogTwoPiLessHalf = 0.4189385332046727;
constexpr double kPi = 3.141592653589793;
constexpr double kLeastProduct = -40.0;

constexpr double kReciprocalGamma[][2] = {
#include "compiler/numerics/reciprocal_gamma.inc"
};
constexpr uint64_t kTerms = sizeof(kReciprocalGamma) / sizeof(kReciprocalGamma[0]);

// The unevaluated sum of two doubles, the second below the first's last place.
struct Double2 {
  V high, low;
};

// Exact if |x| >= |y| (Dekker).
Double2 QuickSum(const Lanes& l, V x, V y) {
  V sum = l.Add(x, y);
  return {sum, l.Sub(y, l.Sub(sum, x))};
}

Double2 Sum(const Lanes& l, V x, V y) {  // exact (Knuth)
  V sum = l.Add(x, y);
  V back = l.Sub(sum, x);
  return {sum, l.Add(l.Sub(x, l.Sub(sum, back)), l.Sub(y, back))};
}

Double2 Product(const Lanes& l, const Double2& x, V y) {
  V high = l.Mul(x.high, y);
  V error = l.Fma(x.high, y, l.b.CreateFNeg(high));
  return QuickSum(l, high, l.Add(error, l.Mul(x.low, y)));
}

llvm::Constant* ReciprocalGammaTable(llvm::Module& module) {
  llvm::Type* real = llvm::Type::getDoubleTy(module.getContext());
  std::vector<llvm::Constant*> numbers;
  for (const auto& pair : kReciprocalGamma) {
    for (double part : pair) numbers.push_back(llvm::ConstantFP::get(real, part));
  }
  llvm::ArrayType* type = llvm::ArrayType::get(real, numbers.size());
  return new llvm::GlobalVariable(module, type, true, llvm::GlobalValue::InternalLinkage,
                                  llvm::ConstantArray::get(type, numbers), "intent.lgamma.table");
}

// double(double) for arguments in (-40, 0): 1 / |Gamma(x)| = |x (x + 1) ... (x + m)| / Gamma(1 + u)
// with x + m = 1 + u, in double-double; x + k is exact. The logarithm keeps the digits that the
// quotient has beside 1.
const char* BetweenPoles(const Lanes& outer) {
  constexpr const char* kSymbol = "intent.lgamma";
  llvm::Module& module = outer.module;
  if (module.getFunction(kSymbol) != nullptr) return kSymbol;
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* real = llvm::Type::getDoubleTy(context);
  auto* function = llvm::Function::Create(llvm::FunctionType::get(real, {real}, false),
                                          llvm::GlobalValue::InternalLinkage, kSymbol, module);
  function->addFnAttr(llvm::Attribute::NoInline);
  auto* entry = llvm::BasicBlock::Create(context, "entry", function);
  auto* step = llvm::BasicBlock::Create(context, "step", function);
  auto* series = llvm::BasicBlock::Create(context, "series", function);
  auto* done = llvm::BasicBlock::Create(context, "done", function);
  llvm::IRBuilder<> b(entry);
  const Lanes l(b, module, outer.facts);
  V x = function->getArg(0);
  V one = l.F(x, 1), zero = l.F(x, 0);
  b.CreateBr(step);

  b.SetInsertPoint(step);
  llvm::PHINode* factor = b.CreatePHI(real, 2);
  llvm::PHINode* high = b.CreatePHI(real, 2);
  llvm::PHINode* low = b.CreatePHI(real, 2);
  const Double2 product = Product(l, {high, low}, factor);
  V next = l.Add(factor, one);
  factor->addIncoming(x, entry);
  factor->addIncoming(next, step);
  high->addIncoming(one, entry);
  high->addIncoming(product.high, step);
  low->addIncoming(zero, entry);
  low->addIncoming(product.low, step);
  b.CreateCondBr(l.Less(next, l.F(x, 0.5)), step, series);

  b.SetInsertPoint(series);
  llvm::PHINode* left = b.CreatePHI(b.getInt64Ty(), 2);
  llvm::PHINode* sum_high = b.CreatePHI(real, 2);
  llvm::PHINode* sum_low = b.CreatePHI(real, 2);
  V u = l.Sub(next, one);
  V k = b.CreateSub(left, b.getInt64(1));
  V table = ReciprocalGammaTable(module);
  V at = b.CreateShl(k, b.getInt64(1));
  V c_high = b.CreateLoad(real, b.CreateGEP(real, table, at));
  V c_low = b.CreateLoad(real, b.CreateGEP(real, table, b.CreateOr(at, b.getInt64(1))));
  const Double2 moved = Product(l, {sum_high, sum_low}, u);
  const Double2 added = Sum(l, moved.high, c_high);
  const Double2 sum = QuickSum(l, added.high, l.Add(added.low, l.Add(moved.low, c_low)));
  left->addIncoming(b.getInt64(kTerms), step);
  left->addIncoming(k, series);
  sum_high->addIncoming(zero, step);
  sum_high->addIncoming(sum.high, series);
  sum_low->addIncoming(zero, step);
  sum_low->addIncoming(sum.low, series);
  b.CreateCondBr(b.CreateICmpEQ(k, b.getInt64(0)), done, series);

  b.SetInsertPoint(done);
  const Double2 scaled = Product(l, product, sum.high);
  const Double2 whole = QuickSum(l, scaled.high, l.Add(scaled.low, l.Mul(product.high, sum.low)));
  V log = l.PerLane("log", {l.Abs(whole.high)});
  b.CreateRet(b.CreateFNeg(l.Add(log, l.Div(whole.low, whole.high))));
  return kSymbol;
}

// lgamma of y = |x|, and of x itself if it lies above -1/2.
V Upward(const Lanes& l, V x, V y) {
  V one = l.F(x, 1);
  V near = l.Less(y, l.F(x, 0.5));
  V below = l.Less(y, l.F(x, 1.5));
  V moderate = l.Less(y, l.F(x, 8));
  // Gamma(y) = (y - 1) (y - 2) ... Gamma(rest) with rest in [3/2, 5/2).
  V rest = l.Select(moderate, y, l.F(x, 2));
  V product = one;
  for (int step = 0; step < 6; ++step) {
    V high = l.b.CreateFCmpOGE(rest, l.F(x, 2.5));
    V next = l.Sub(rest, one);
    product = l.Select(high, l.Mul(product, next), product);
    rest = l.Select(high, next, rest);
  }
  V u = l.Select(below, l.Sub(y, one), l.Sub(rest, l.F(x, 2)));
  u = l.Select(near, x, u);
  // What is to be added or taken away: one logarithm serves every range.
  V argument = l.Select(moderate, product, y);
  argument = l.Select(below, y, argument);
  argument = l.Select(near, l.Mul(y, l.Add(x, one)), argument);
  V log = l.PerLane("log", {argument});
  V p = l.Polynomial(u, {0.42278433509846713,    0.3224670334241132,     -0.06735230105319809,
                         0.020580808427784546,   -0.0073855510286741114, 0.0028905103307415836,
                         -0.0011927539116954181, 0.0005096695247392805,  -0.00022315475870367355,
                         9.945751290176889e-05,  -4.492623209360517e-05, 2.05072105479096e-05,
                         -9.439541921024715e-06, 4.374892520636031e-06,  -2.0388192484564222e-06,
                         9.549510392959532e-07,  -4.511181191016309e-07, 2.129692727315228e-07,
                         -9.501416425423385e-08, 4.509983567521808e-08,  -3.1314285360886705e-08,
                         1.4963573191192003e-08});
  p = l.Mul(u, p);
  V low = l.Select(below, l.Sub(p, log), l.Add(p, log));
  V r = l.Div(one, y);
  V s = l.Polynomial(
      l.Mul(r, r),
      {0.08333333333333333, -0.0027777777777776747, 0.0007936507935117282, -0.0005952380234291254,
       0.0008417325268022405, -0.001914965912162907, 0.0062081367662297935, -0.020855820837463117});
  V tail = l.Mad(s, r, l.F(x, kHalfLogTwoPiLessHalf));
  V far = l.Mad(l.Sub(y, l.F(x, 0.5)), l.Sub(log, one), tail);
  return l.Select(moderate, low, far);
}

// lgamma(x) = log(pi / |x sin(pi x)|) - lgamma(-x) for x <= -1/2, from y = -x; infinite at poles.
V Reflected(const Lanes& l, V y, V upward) {
  llvm::IRBuilderBase& b = l.b;
  V part = l.Sub(y, b.CreateUnaryIntrinsic(llvm::Intrinsic::floor, y));
  V u = l.Select(l.Less(part, l.F(y, 0.5)), part, l.Sub(l.F(y, 1), part));
  V s = l.Polynomial(l.Mul(u, u),
                     {3.141592653589793, -5.16771278004997, 2.5501640398773455, -0.5992645293207869,
                      0.08214588661099356, -0.007370430943702136, 0.0004663027884593273,
                      -2.1915250301851375e-05, 7.94853903737232e-07, -2.228371216069697e-08});
  V sine = l.Mul(u, s);
  V log = l.PerLane("log", {l.Div(l.F(y, kPi), l.Mul(y, sine))});
  V pole = b.CreateFCmpOEQ(part, l.F(y, 0));
  return l.Select(pole, l.F(y, HUGE_VAL), l.Sub(log, upward));
}

}  // namespace

// +0 at 1 and 2, +infinity at poles and infinities; NaN stays.
V EmitLgamma(const Lanes& l, V x) {
  llvm::IRBuilderBase& b = l.b;
  const bool single = x->getType()->getScalarType()->isFloatTy();
  V wide = single ? l.Widen(x) : x;
  V y = l.Abs(wide);
  V upward = Upward(l, wide, y);

  V negative = b.CreateFCmpOLE(wide, l.F(wide, -0.5));
  llvm::BasicBlock* before = b.GetInsertBlock();
  auto* below = llvm::BasicBlock::Create(b.getContext(), "below", before->getParent());
  auto* join = llvm::BasicBlock::Create(b.getContext(), "above", before->getParent());
  b.CreateCondBr(l.Any(negative), below, join);
  b.SetInsertPoint(below);
  V reflected = Reflected(l, y, upward);
  if (!single) {
    V close = b.CreateAnd(negative, l.Less(l.F(wide, kLeastProduct), wide));
    // Lanes that need nothing here get an argument that costs little.
    V exact = l.PerLane(BetweenPoles(l), {l.Select(close, wide, l.F(wide, -0.5))});
    V pole = b.CreateFCmpOEQ(reflected, l.F(wide, HUGE_VAL));
    reflected = l.Select(b.CreateAnd(close, b.CreateNot(pole)), exact, reflected);
  }
  V chosen = l.Select(negative, reflected, upward);
  llvm::BasicBlock* after = b.GetInsertBlock();
  b.CreateBr(join);
  b.SetInsertPoint(join);
  llvm::PHINode* result = b.CreatePHI(wide->getType(), 2);
  result->addIncoming(upward, before);
  result->addIncoming(chosen, after);
  // Minus infinity is no multiple of one, and the sums above make NaN of it.
  V infinite = b.CreateFCmpOEQ(y, l.F(y, HUGE_VAL));
  V value = l.Select(infinite, y, result);
  return single ? l.Narrow(value) : value;
}

}  // namespace intent::cpu
