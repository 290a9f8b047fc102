#include "compiler/plan/owned_axis.h"

#include <algorithm>

#include "compiler/plan/axis_classes.h"
#include "compiler/plan/plan.h"

namespace intent::plan {
namespace {

using Node = AxisClasses::Node;

class Finder {
 public:
  Finder(const Function& function, const Op& parallel)
      : function_(function), classes_(function, parallel) {}

  Ownership Run() {
    Ownership result{std::nullopt, classes_.refusal()};
    if (!result.refusal.empty()) return result;
    const std::vector<AxisClasses::Access>& accesses = classes_.accesses();
    const auto store = std::find_if(accesses.begin(), accesses.end(), [&](const auto& access) {
      return access.writes && !classes_.IsInside(access.op->operands[0]);
    });
    if (store == accesses.end() || store->whole.empty()) {
      result.refusal = "a store has no whole axis";
      return result;
    }
    for (const AxisClasses::Whole& whole : store->whole) {
      OwnedAxis owned;
      owned.store = store->op;
      owned.store_axis = whole.axis;
      const std::string refusal = Check(classes_.Root(whole.node), &owned);
      if (refusal.empty()) return {std::move(owned), {}};
      if (result.refusal.empty()) {
        result.refusal = "axis " + std::to_string(whole.axis) + " of what it stores " + refusal;
      }
    }
    return result;
  }

 private:
  const Type& TypeOf(ValueId value) const { return function_.type(value); }

  // Empty: it is owned.
  std::string Check(Node root, OwnedAxis* owned) {
    if (const char* refusal = classes_.RefusalOf(root)) return refusal;
    owned->extent = classes_.ExtentOf(root);
    for (Node node = 0; node < classes_.size(); ++node) {
      if (classes_.Root(node) == root && !(classes_.ExtentOf(node) == owned->extent)) {
        return "has several extents";
      }
    }
    bool twice = false;
    const auto members = [&](const Type& type, Node first) {
      std::vector<bool> of_class;
      bool any = false;
      for (const AxisClasses::Leaf& leaf : AxisClasses::LeavesOf(type, first)) {
        size_t count = 0;
        for (size_t axis = 0; axis < leaf.type->shape().size(); ++axis) {
          of_class.push_back(classes_.Root(leaf.first + axis) == root);
          count += of_class.back();
        }
        any |= count > 0;
        twice |= count > 1;
      }
      return any ? of_class : std::vector<bool>{};
    };
    for (const auto& [value, first] : classes_.values()) {
      std::vector<bool> of_class = members(TypeOf(value), first);
      if (!of_class.empty()) owned->values[value] = std::move(of_class);
    }
    for (const auto& [use, first] : classes_.uses()) {
      std::vector<bool> of_class = members(TypeOf(use.first->operands[use.second]), first);
      if (!of_class.empty()) owned->uses[use] = std::move(of_class);
    }
    if (twice) return "is two axes of one value";
    for (const Op* op : classes_.work()) {
      if (owned->values.contains(op->result) || StandsForOthers(*op)) continue;
      return "is not in all that its tiles would repeat: " + std::string(InfoOf(op->kind).name);
    }
    return CheckAccesses(root, owned);
  }

  // A loop around stores and work, which must be of the class themselves.
  bool StandsForOthers(const Op& loop) const {
    if (InfoOf(loop.kind).effect != Effect::kControl) return false;
    bool others = false;
    for (const auto& region : loop.regions) {
      ForEachOp(*region, [&](const Op& op) {
        others |= InfoOf(op.kind).effect == Effect::kWrite;
        others |=
            std::find(classes_.work().begin(), classes_.work().end(), &op) != classes_.work().end();
      });
    }
    return others;
  }

  std::string CheckAccesses(Node root, OwnedAxis* owned) {
    struct Place {
      ValueId resource;
      int64_t axis;  // -1: it is not accessed along the class
      bool writes;
    };
    std::vector<Place> places;
    for (const AxisClasses::Access& access : classes_.accesses()) {
      const ValueId resource = access.op->operands[0];
      Place place{resource, -1, access.writes};
      for (const AxisClasses::Whole& whole : access.whole) {
        if (classes_.Root(whole.node) != root) continue;
        owned->whole_terms[access.op] = whole.term;
        place.axis = whole.axis;
      }
      const bool of_class = place.axis >= 0 || owned->values.contains(resource);
      if (access.writes && !of_class) return "is not in all that is stored";
      if (TypeOf(resource).IsResource() && !classes_.IsInside(resource)) places.push_back(place);
    }
    std::unordered_map<ValueId, const Parameter*> views;
    for (size_t i = 0; i < function_.parameters.size(); ++i) {
      if (function_.parameters[i].type.IsView()) {
        views[function_.body.arguments[i]] = &function_.parameters[i];
      }
    }
    // Tiles of one point may run at the same time: none may touch what another one writes.
    for (const Place& write : places) {
      if (!write.writes) continue;
      for (const Place& other : places) {
        if (write.resource == other.resource) {
          if (write.axis != other.axis) return "is read or written elsewhere where it is stored";
          continue;
        }
        const auto a = views.find(write.resource), b = views.find(other.resource);
        if (a == views.end() || b == views.end() || !ViewsMayAlias(*a->second, *b->second)) {
          continue;
        }
        Note({write.resource, other.resource, write.axis == other.axis}, &owned->conflicts);
      }
    }
    return {};
  }

  static void Note(const TileConflict& conflict, std::vector<TileConflict>* conflicts) {
    for (TileConflict& known : *conflicts) {
      if (known.written != conflict.written || known.other != conflict.other) continue;
      known.aligned = known.aligned && conflict.aligned;
      return;
    }
    conflicts->push_back(conflict);
  }

  const Function& function_;
  const AxisClasses classes_;
};

}  // namespace

Ownership FindOwnedAxis(const Function& function, const Op& parallel) {
  return Finder(function, parallel).Run();
}

}  // namespace intent::plan
