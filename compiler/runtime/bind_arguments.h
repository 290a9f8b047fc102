#pragma once

// From a manifest, allocations and arguments to what an entry takes: every check that stands
// between a caller's numbers and a pointer is here, for executors (arguments of execute.proto) and
// for processes that run kernels on their own memory alike.
//
// Bind checks, in this order: the number and kinds of arguments; ranks, extents and that no
// coordinate of a view leaves its allocation; scalars' bits; symbols, constants and expressions of
// axes; the manifest's further checks; noalias promises. All arithmetic is overflow-checked.
// Nothing is read through the pointers.

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "compiler/driver/intent_call.h"
#include "google/protobuf/repeated_field.h"
#include "intent/compile/v1/compile.pb.h"
#include "intent/execute/v1/execute.pb.h"

namespace intent {

// Memory of the call; an executor's is aligned to 64 bytes.
struct BoundAllocation {
  uint32_t id = 0;
  char* data = nullptr;
  uint64_t size = 0;
};

// A view: a place in an allocation. The numbers stay the caller's; Bind copies them.
struct ViewArgument {
  uint32_t allocation = 0;  // by id
  int64_t offset = 0;       // of the element at 0, 0, ..., in elements
  absl::Span<const int64_t> extents;
  absl::Span<const int64_t> strides;  // in elements
};

// A view, the storage bits of a scalar, zero-extended, or neither.
using CallArgument = std::variant<std::monostate, ViewArgument, uint64_t>;

// Arguments ready for an entry. Views point into `extents` and `strides`: move it, never copy it.
class BoundCall {
 public:
  BoundCall() = default;
  BoundCall(BoundCall&&) = default;
  BoundCall& operator=(BoundCall&&) = default;

  std::vector<intent_view> views;                      // one per view parameter
  std::vector<uint64_t> scalars;                       // one per scalar parameter
  std::vector<std::vector<int64_t>> extents, strides;  // by view
  std::vector<std::optional<int64_t>> symbols;         // shape symbols; unset: no axis names it
  std::vector<size_t> places;  // by parameter: its position in `views` or `scalars`
};

std::variant<BoundCall, execute::v1::RunError> Bind(const compile::v1::Manifest& manifest,
                                                    const std::vector<BoundAllocation>& allocations,
                                                    const std::vector<CallArgument>& arguments);
std::variant<BoundCall, execute::v1::RunError> Bind(
    const compile::v1::Manifest& manifest, const std::vector<BoundAllocation>& allocations,
    const google::protobuf::RepeatedPtrField<execute::v1::Argument>& arguments);

// What a SYMBOL, EXTENT, STRIDE, SCALAR, OVERLAP, SAME_VIEW or ADDRESS instruction of the
// manifest's programs stands for in a call; nullopt when there is no such thing.
std::optional<int64_t> LeafValue(const compile::v1::Manifest& manifest, const BoundCall& call,
                                 const compile::v1::Instruction& instruction);

// What an entry reported, by the parameters' positions in the signature.
execute::v1::RunError ToRunError(const intent_error& error, const compile::v1::Manifest& manifest);

}  // namespace intent
