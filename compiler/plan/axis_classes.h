#pragma once

// Which axes in the body of a `parallel` loop are one and the same, and what needs more of an axis
// than one place.
//
// Axes of values are nodes. An operation that aligns two axes joins their classes; one that
// reduces, scans, slices, reshapes or indexes an axis refuses its class. Equal extents do not make
// one class: in self-attention queries and keys have one symbol. What a body takes from outside has
// nodes of its own for each use, and memory outside has none: an access that takes a whole axis of
// it is noted with the node of what is read or written.

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/ir/module.h"

namespace intent::plan {

class AxisClasses {
 public:
  using Node = size_t;  // nodes of a value are neighbours, in the order of its tensors' axes
  struct Whole {
    size_t term;   // of the access
    int64_t axis;  // of what is accessed
    Node node;     // of the element read or written
  };
  struct Access {
    const Op* op;
    bool writes;
    std::vector<Whole> whole;
  };
  // One tensor or scalar of a value, and the node of its first axis.
  struct Leaf {
    const Type* type;
    Node first;
  };

  // `parallel` is an operation of `function`, which is specialised; both must outlive this.
  AxisClasses(const Function& function, const Op& parallel);

  // Why no axis of the body may be cut, whatever its class; empty: there is no such reason.
  const std::string& refusal() const { return body_refusal_; }
  // Why the class may not be cut; null: there is no such reason.
  const char* RefusalOf(Node root) const { return refusals_[root]; }

  size_t size() const { return parent_.size(); }
  Node Root(Node node) const;
  const Extent& ExtentOf(Node node) const { return extents_[node]; }
  static std::vector<Leaf> LeavesOf(const Type& type, Node first);

  // First nodes of values that the body makes, and of operands that it takes from outside.
  const std::unordered_map<ValueId, Node>& values() const { return first_; }
  const std::map<std::pair<const Op*, size_t>, Node>& uses() const { return uses_; }
  bool IsInside(ValueId value) const { return first_.contains(value); }
  // In the order of the program: accesses of what lies outside, and all writes;
  const std::vector<Access>& accesses() const { return accesses_; }
  // and what is dear to repeat: structured operations, and loops.
  const std::vector<const Op*>& work() const { return work_; }

 private:
  struct Item {
    const Op* op;
    bool in_callback;
  };

  const Type& TypeOf(ValueId value) const { return function_.type(value); }
  Node NewNodes(const Type& type);
  std::vector<Item> Collect();
  std::vector<Leaf> Result(const Op& op) const;
  std::vector<Leaf> Argument(const Block& block, size_t i) const;
  std::vector<Leaf> Operand(const Op& op, size_t i);
  std::vector<Leaf> Concatenated(const Op& op, size_t first);

  void Join(Node a, Node b);
  void Refuse(Node node, const char* why);
  void JoinAxes(const Leaf& a, const Leaf& b);
  void JoinAll(const std::vector<Leaf>& a, const std::vector<Leaf>& b);
  void RefuseAll(const std::vector<Leaf>& leaves, const char* why);
  void JoinCaptures(const Op& op, size_t first, const Block& block, size_t argument);
  void JoinYield(const Block& block, const std::vector<Leaf>& value);

  void Relate(const Item& item);
  void Loop(const Op& op, size_t first_init, const Block& body, size_t first_carry);
  void Reshape(const Op& op);
  void Combine(const Block& block, const std::vector<Leaf>& state);
  void Fold(const Op& op, const std::vector<int64_t>& axes, const char* why, CombineKind combine);
  void Slices(const Op& op, size_t first_capture, const Block& block, size_t between);
  void RegionScan(const Op& op);
  void Contract(const Op& op);
  void Index(const Op& op, size_t next, const Leaf& element, bool writes);

  const Function& function_;
  const Op& parallel_;
  std::string body_refusal_;
  std::vector<Access> accesses_;
  std::vector<const Op*> work_;
  std::unordered_map<ValueId, Node> first_;
  std::map<std::pair<const Op*, size_t>, Node> uses_;
  // By node.
  mutable std::vector<Node> parent_;  // shortened by Root
  std::vector<Extent> extents_;
  std::vector<const char*> refusals_;  // of roots
};

}  // namespace intent::plan
