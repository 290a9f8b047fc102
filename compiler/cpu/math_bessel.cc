// i0, the modified Bessel function of order zero, on f32 and f64 lanes, in f64. Coefficients are
// minimax fits of ours, of relative error below 2^-29 for f32 and 2^-53 for f64.

#include <llvm/IR/IRBuilder.h>

#include <cmath>

#include "compiler/cpu/lanes.h"

namespace intent::cpu {

// Even; 1 at zeros; infinity and NaN as they are.
V EmitI0(const Lanes& l, V x) {
  const bool single = x->getType()->getScalarType()->isFloatTy();
  V y = l.Abs(single ? l.Widen(x) : x);
  // Below 8: the power series in x^2/4, refitted.
  V a = l.Mul(l.Mul(y, y), l.F(y, 0.25));
  V p = single
            ? l.Polynomial(a, {1.0000000000613718, 0.24999999907208958, 0.02777778009328084,
                               0.0017361088612821108, 6.944556332698477e-05, 1.928688563527144e-06,
                               3.942580171674763e-08, 6.084363416285332e-10, 8.082326727247898e-12,
                               5.4194257075113705e-14, 1.1496577904247326e-15})
            : l.Polynomial(
                  a, {1.0, 0.25, 0.02777777777777778, 0.0017361111111111106, 6.944444444444523e-05,
                      1.929012345678419e-06, 3.936759889170454e-08, 6.151187325755852e-10,
                      7.59405845371784e-12, 7.594057959497694e-14, 6.276087726660225e-16,
                      4.358324987723104e-18, 2.5794178351052894e-20, 1.3130874489257475e-22,
                      5.952735587576793e-25, 2.013075286051257e-27, 1.2002672023650634e-29});
  V near = l.Mad(a, p, l.F(y, 1));
  // From 8 on: sqrt(x) exp(-x) i0(x), which is smooth in 1/x down to 0.
  V t = l.Sub(l.Div(l.F(y, 16), y), l.F(y, 1));
  V q = single
            ? l.Polynomial(t, {0.4021765094450081, 0.003360555851925354, 0.00013621684311530046,
                               1.1111525456650673e-05, 1.4767921099426897e-06,
                               3.631710305277285e-07, 1.0829898259260847e-07})
            : l.Polynomial(
                  t, {0.4021765094450081,      0.0033605519836678913,   0.00013621607438951463,
                      1.114303378845176e-05,   1.4838476780922646e-06,  2.9735992084667734e-07,
                      8.872014585661555e-08,   3.932512321137824e-08,   2.156780676115673e-08,
                      7.559364098665437e-09,   -6.856484545962442e-09,  -1.3427511481900905e-08,
                      -5.0175940345046716e-09, 7.600254486433509e-09,   6.522264862032271e-09,
                      -3.5862834111582305e-09, -4.5305710768621196e-09, 1.6084886155781772e-09,
                      2.163681278413876e-09,   -6.327909921997027e-10,  -6.494591114401118e-10,
                      1.7698085539456536e-10,  9.114760157514253e-11,   -2.4421972688131832e-11});
  // The last product alone may overflow: exp(16) times the tail of the exponential.
  V scale = l.Mul(l.Div(q, l.Sqrt(y)), l.F(y, 8886110.520507872));
  V far = l.Mul(EmitExp(l, l.Sub(y, l.F(y, 16))), scale);
  V result = l.Select(l.Less(y, l.F(y, 8)), near, far);
  result = l.Select(l.Less(y, l.F(y, HUGE_VAL)), result, y);
  return single ? l.Narrow(result) : result;
}

}  // namespace intent::cpu
