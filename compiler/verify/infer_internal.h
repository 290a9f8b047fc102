#pragma once

// Shared by the files of InferType: one operation under inference.

#include <string>
#include <vector>

#include "compiler/verify/infer.h"

namespace intent::infer {

class Inference {
 public:
  Inference(const InferContext& context, const Op& op) : context_(context), op_(op) {}

  std::optional<Type> Run();

 private:
  // Each gives the result type or reports.
  std::optional<Type> Constant();
  std::optional<Type> Constexpr();
  std::optional<Type> Dim();
  std::optional<Type> Domain();
  std::optional<Type> DomainProduct();
  std::optional<Type> Subregion();
  std::optional<Type> Indices();
  std::optional<Type> RegionEnd();
  std::optional<Type> AssumeInBounds();

  std::optional<Type> Unary();
  std::optional<Type> Binary();
  std::optional<Type> Compare();
  std::optional<Type> Select();
  std::optional<Type> Mask();
  std::optional<Type> Cast();

  std::optional<Type> Reshape();
  std::optional<Type> Transpose();
  std::optional<Type> Broadcast();
  std::optional<Type> Full();
  std::optional<Type> Join();
  std::optional<Type> MakeTuple();
  std::optional<Type> MakeRecord();
  std::optional<Type> Extract();

  std::optional<Type> Load();
  std::optional<Type> Store();
  std::optional<Type> ScatterUnique();
  std::optional<Type> ScatterReduce();
  std::optional<Type> Buffer();
  std::optional<Type> Atomic();
  std::optional<Type> RandomBits();

  std::optional<Type> Parallel();
  std::optional<Type> If();
  std::optional<Type> ConstexprIf();
  std::optional<Type> For();
  std::optional<Type> While();
  std::optional<Type> Call();
  std::optional<Type> Leave();

  std::optional<Type> Reduce();
  std::optional<Type> Scan();
  std::optional<Type> RegionFold();
  std::optional<Type> RegionScan();
  std::optional<Type> Contract();
  std::optional<Type> ScaledContract();
  std::optional<Type> SparseContract();
  std::optional<Type> Histogram();
  std::optional<Type> Quantize();
  std::optional<Type> QuantizedDot();

  // --- Operands and messages.
  const Type& operand(size_t i) const { return context_.function.type(op_.operands[i]); }
  const Type& declared() const { return context_.function.type(op_.result); }
  std::nullopt_t Fail(DiagnosticCode code, std::string message) const;
  std::string Text(const Type& type) const { return type.ToString(context_.namer); }
  std::string Text(const Extent& extent) const { return extent.ToString(context_.namer); }
  std::string Text(const std::vector<Extent>& shape) const {
    return ShapeToString(shape, context_.namer);
  }
  std::string Name() const { return std::string(InfoOf(op_.kind).name); }
  // Operand i is a scalar or tensor; views, buffers, domains and products are told apart.
  bool CheckElementwise(size_t i) const;
  bool CheckTensor(size_t i) const;
  bool CheckIndexScalar(size_t i, const char* what) const;
  bool CheckDomain(size_t i) const;  // of rank 1
  // All operands from..to have the type of the first, but for what the flags leave open.
  bool CheckSameDType(size_t a, size_t b) const;
  bool CheckSameShape(size_t a, size_t b) const;
  bool CheckExtents(const std::vector<Extent>& shape) const;  // valid, not provably negative
  // A resolved attribute, or nullopt: a reference before specialisation (no error).
  std::optional<int64_t> Resolve(const StaticInt& value) const;
  // References must be of the kind and, after specialisation, gone. Flags are 0 or 1.
  bool CheckStatic(const StaticInt& value, ConstexprKind kind, const char* what) const;
  bool CheckAxis(const StaticInt& axis, int rank) const;
  bool CheckAxis(int64_t axis, int rank) const;

  // --- Regions.
  const Block& region(size_t i) const { return *op_.regions[i]; }
  std::vector<Type> Arguments(const Block& block) const;
  std::vector<Type> Yields(const Block& block) const;
  bool CheckArguments(size_t region, const std::vector<Type>& expected, DiagnosticCode code,
                      const char* what) const;
  bool CheckYields(size_t region, const std::vector<Type>& expected, DiagnosticCode code,
                   const char* what) const;
  std::optional<Type> Branches();
  std::vector<Type> OperandTypes(size_t from) const;
  // Builtin combine or combine region over states of one schema.
  bool CheckCombine(CombineKind kind, const Type& state, size_t first_capture) const;
  bool CheckApproximate(const StaticInt& approximate, const StaticInt& flush, bool allowed,
                        bool flush_allowed, DType dtype) const;
  bool CheckNumeric(DType dtype) const;
  bool CheckContractPairs(const Type& lhs, const Type& rhs, const ContractAttr& attr,
                          std::vector<Extent>* shape) const;
  bool CheckAccumulator(DType dtype) const;

  const InferContext& context_;
  const Op& op_;
};

std::string Ordinal(size_t position);                  // "operand 1"
std::string Quantity(size_t count, const char* noun);  // "1 axis", "2 axes"

}  // namespace intent::infer
