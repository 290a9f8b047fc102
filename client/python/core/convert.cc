#include "client/python/core/convert.h"

namespace intent::python {

namespace nb = nanobind;

namespace {

__int128 ToInt128(nb::handle value) {
  nb::bytes bytes = nb::borrow<nb::bytes>(
      value.attr("to_bytes")(16, "little", nb::arg("signed") = true));  // OverflowError beyond
  unsigned __int128 bits = 0;
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.c_str());
  for (int i = 15; i >= 0; --i) bits = bits << 8 | data[i];
  return static_cast<__int128>(bits);
}

nb::object FromInt128(__int128 value) {
  char data[16];
  auto bits = static_cast<unsigned __int128>(value);
  for (int i = 0; i < 16; ++i, bits >>= 8) data[i] = static_cast<char>(bits & 0xff);
  nb::object integer = nb::borrow(reinterpret_cast<PyObject*>(&PyLong_Type));
  return integer.attr("from_bytes")(nb::bytes(data, 16), "little", nb::arg("signed") = true);
}

[[noreturn]] void UnknownName(const char* what, const std::string& name) {
  throw nb::value_error((std::string("unknown ") + what + " '" + name + "'").c_str());
}

}  // namespace

Operand ToOperand(nb::handle value) {
  Literal literal;
  if (PyBool_Check(value.ptr())) {
    literal.kind = Literal::Kind::kBool;
    literal.int_value = value.ptr() == Py_True;
    return literal;
  }
  if (PyLong_Check(value.ptr())) {
    literal.kind = Literal::Kind::kInt;
    literal.int_value = ToInt128(value);
    return literal;
  }
  if (PyFloat_Check(value.ptr())) {
    literal.kind = Literal::Kind::kFloat;
    literal.float_value = PyFloat_AsDouble(value.ptr());
    return literal;
  }
  if (nb::isinstance<Operand>(value)) return nb::cast<Operand>(value);
  throw nb::type_error("not an operand");
}

std::optional<Operand> ToOptionalOperand(nb::handle value) {
  if (value.is_none()) return std::nullopt;
  return ToOperand(value);
}

std::vector<Operand> ToOperands(nb::handle sequence) {
  std::vector<Operand> operands;
  for (nb::handle item : sequence) operands.push_back(ToOperand(item));
  return operands;
}

nb::object FromOperand(const Operand& operand) {
  if (!operand.IsLiteral()) return nb::cast(operand);
  const Literal& literal = operand.literal();
  switch (literal.kind) {
    case Literal::Kind::kBool:
      return nb::bool_(literal.int_value != 0);
    case Literal::Kind::kInt:
      return FromInt128(literal.int_value);
    case Literal::Kind::kFloat:
      return nb::float_(literal.float_value);
  }
  return nb::none();
}

nb::list FromOperands(const std::vector<Operand>& operands) {
  nb::list list;
  for (const Operand& operand : operands) list.append(FromOperand(operand));
  return list;
}

std::vector<IndexItem> ToIndex(nb::handle sequence) {
  std::vector<IndexItem> items;
  for (nb::handle value : sequence) {
    IndexItem item;
    if (value.is_none()) {
      item.kind = IndexItem::Kind::kNewAxis;
    } else if (value.ptr() == Py_Ellipsis) {
      item.kind = IndexItem::Kind::kEllipsis;
    } else if (PySlice_Check(value.ptr())) {
      item.start = ToOptionalOperand(value.attr("start"));
      item.stop = ToOptionalOperand(value.attr("stop"));
      item.kind = item.start || item.stop ? IndexItem::Kind::kSlice : IndexItem::Kind::kFull;
    } else {
      item.kind = IndexItem::Kind::kOperand;
      item.operand = ToOperand(value);
    }
    items.push_back(std::move(item));
  }
  return items;
}

DType ToDType(nb::handle name) {
  std::string text = nb::cast<std::string>(name);
  std::optional<DType> dtype = DTypeFromName(text);
  if (!dtype) UnknownName("dtype", text);
  return *dtype;
}

std::optional<DType> ToOptionalDType(nb::handle name) {
  if (name.is_none()) return std::nullopt;
  return ToDType(name);
}

UnaryKind ToUnaryKind(const std::string& name) {
#define INTENT_UNARY(kind, text) \
  if (name == text) return UnaryKind::kind;
#include "compiler/ir/kinds.def"
#undef INTENT_UNARY
  UnknownName("unary operation", name);
}

BinaryKind ToBinaryKind(const std::string& name) {
#define INTENT_BINARY(kind, text) \
  if (name == text) return BinaryKind::kind;
#include "compiler/ir/kinds.def"
#undef INTENT_BINARY
  UnknownName("binary operation", name);
}

CompareKind ToCompareKind(const std::string& name) {
#define INTENT_COMPARE(kind, text) \
  if (name == text) return CompareKind::kind;
#include "compiler/ir/kinds.def"
#undef INTENT_COMPARE
  UnknownName("comparison", name);
}

RmwKind ToRmwKind(const std::string& name) {
#define INTENT_RMW(kind, text) \
  if (name == text) return RmwKind::kind;
#include "compiler/ir/kinds.def"
#undef INTENT_RMW
  UnknownName("atomic operation", name);
}

MemoryOrder ToMemoryOrder(const std::string& name) {
#define INTENT_ORDER(kind, text) \
  if (name == text) return MemoryOrder::kind;
#include "compiler/ir/kinds.def"
#undef INTENT_ORDER
  UnknownName("memory order", name);
}

CombineKind ToCombineKind(const std::string& name) {
#define INTENT_COMBINE(kind, text) \
  if (name == text) return CombineKind::kind;
#include "compiler/ir/kinds.def"
#undef INTENT_COMBINE
  UnknownName("combine", name);
}

DiagnosticCode ToDiagnosticCode(const std::string& text) {
#define INTENT_DIAGNOSTIC(name, code, summary) \
  if (text == code) return DiagnosticCode::name;
#include "compiler/diag/codes.def"
#undef INTENT_DIAGNOSTIC
  UnknownName("diagnostic code", text);
}

}  // namespace intent::python
