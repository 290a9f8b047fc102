#include "compiler/cpu/lanes.h"

namespace intent::cpu {
V EmitExp(const Lanes& l, V x) { return l.PerLane("exp", {x}); }
V EmitExp2(const Lanes& l, V x) { return l.PerLane("exp2", {x}); }
V EmitLog(const Lanes& l, V x) { return l.PerLane("log", {x}); }
V EmitLog1p(const Lanes& l, V x) { return l.PerLane("log1p", {x}); }
V EmitSigmoid(const Lanes& l, V x) { return l.PerLane("exp", {x}); }
V EmitTanh(const Lanes& l, V x) { return l.PerLane("tanh", {x}); }
V EmitErf(const Lanes& l, V x) { return l.PerLane("erf", {x}); }
V EmitSin(const Lanes& l, V x) { return l.PerLane("sin", {x}); }
V EmitCos(const Lanes& l, V x) { return l.PerLane("cos", {x}); }
V EmitRsqrt(const Lanes& l, V x) { return l.Div(l.F(x, 1), l.Sqrt(x)); }
V EmitPow(const Lanes& l, V x, V y) { return l.PerLane("pow", {x, y}); }
}  // namespace intent::cpu
