#pragma once

// From a manifest, allocations and arguments (execute.proto) to what an entry takes: every check
// that stands between a caller's numbers and a pointer is here.
//
// Bind checks, in this order: the number and kinds of arguments; ranks, extents and that no
// coordinate of a view leaves its allocation; scalars' bits; symbols, constants and expressions of
// axes; the manifest's further checks; noalias promises. All arithmetic is overflow-checked.
// Nothing is read through the pointers.

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "compiler/driver/intent_call.h"
#include "google/protobuf/repeated_field.h"
#include "intent/compile/v1/compile.pb.h"
#include "intent/execute/v1/execute.pb.h"

namespace intent {

// Memory of the call, aligned to 64 bytes.
struct BoundAllocation {
  uint32_t id = 0;
  char* data = nullptr;
  uint64_t size = 0;
};

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

std::variant<BoundCall, execute::v1::RunError> Bind(
    const compile::v1::Manifest& manifest, const std::vector<BoundAllocation>& allocations,
    const google::protobuf::RepeatedPtrField<execute::v1::Argument>& arguments);

// What a SYMBOL, EXTENT, STRIDE, SCALAR, OVERLAP or SAME_VIEW instruction of the manifest's programs
// stands for in a call; nullopt when there is no such thing.
std::optional<int64_t> LeafValue(const compile::v1::Manifest& manifest, const BoundCall& call,
                                 const compile::v1::Instruction& instruction);

// What an entry reported, by the parameters' positions in the signature.
execute::v1::RunError ToRunError(const intent_error& error, const compile::v1::Manifest& manifest);

}  // namespace intent
