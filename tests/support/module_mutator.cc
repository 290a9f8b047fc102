#include "tests/support/module_mutator.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <vector>

#include "compiler/ir/wire_bytes.h"
#include "intent/kir/v1/kir.pb.h"

namespace intent::testing {
namespace {

namespace pb = ::intent::kir::v1;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// One scalar in a message; index -1: not repeated.
struct Site {
  Message* message;
  const FieldDescriptor* field;
  int index;
};

// Fields that hold the tree together: a change of one nearly always breaks the module.
bool IsStructural(const FieldDescriptor* field) {
  const std::string name = field->full_name();
  for (const char* suffix :
       {"Operation.result", "Operation.regions", "Block.arguments", "Block.operations",
        "Module.format", "Module.kernel", "ConstexprNode.op", "ConstexprType.kind", "Type.kind",
        "Constant.dtype", "Constant.bits"}) {
    if (name.ends_with(suffix)) return true;
  }
  return false;
}

// Every scalar of a message and the numbers that each field takes in it.
class Sites {
 public:
  explicit Sites(Message* message) { Collect(message); }

  std::vector<Site> ordinary, structural;
  std::map<const FieldDescriptor*, std::vector<uint32_t>> numbers;
  std::map<int, std::vector<pb::OpKind>> kinds;  // by the attributes they carry

 private:
  void Collect(Message* message) {
    if (const auto* operation = dynamic_cast<const pb::Operation*>(message)) {
      kinds[operation->attributes_case()].push_back(operation->kind());
    }
    const Reflection* reflection = message->GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection->ListFields(*message, &fields);
    for (const FieldDescriptor* field : fields) {
      const int count = field->is_repeated() ? reflection->FieldSize(*message, field) : 1;
      for (int i = 0; i < count; ++i) {
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
          Collect(field->is_repeated() ? reflection->MutableRepeatedMessage(message, field, i)
                                       : reflection->MutableMessage(message, field));
          continue;
        }
        const Site site{message, field, field->is_repeated() ? i : -1};
        (IsStructural(field) ? structural : ordinary).push_back(site);
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_UINT32) {
          numbers[field].push_back(site.index < 0
                                       ? reflection->GetUInt32(*message, field)
                                       : reflection->GetRepeatedUInt32(*message, field, i));
        }
      }
    }
  }
};

void Change(const Site& site, const Sites& sites, ModuleMutator* random) {
  Message* message = site.message;
  const FieldDescriptor* field = site.field;
  const Reflection* reflection = message->GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32: {
      const std::vector<uint32_t>& seen = sites.numbers.at(field);
      uint32_t value = seen[random->Below(seen.size())];
      if (random->OneIn(8)) value += random->OneIn(2) ? 1 : static_cast<uint32_t>(random->Next());
      if (site.index < 0) {
        reflection->SetUInt32(message, field, value);
      } else if (random->OneIn(3)) {
        reflection->SwapElements(message, field, site.index,
                                 static_cast<int>(random->Below(
                                     static_cast<size_t>(reflection->FieldSize(*message, field)))));
      } else {
        reflection->SetRepeatedUInt32(message, field, site.index, value);
      }
      return;
    }
    case FieldDescriptor::CPPTYPE_INT64: {
      static constexpr int64_t kValues[] = {0, 1, -1, 2, 3, 7, 64, 1 << 20, INT64_MAX, INT64_MIN};
      const int64_t value = kValues[random->Below(std::size(kValues))];
      if (site.index < 0) {
        reflection->SetInt64(message, field, value);
      } else {
        reflection->SetRepeatedInt64(message, field, site.index, value);
      }
      return;
    }
    case FieldDescriptor::CPPTYPE_BOOL:
      reflection->SetBool(message, field, !reflection->GetBool(*message, field));
      return;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      reflection->SetDouble(message, field, static_cast<double>(random->Next()) / 3 - 1e18);
      return;
    case FieldDescriptor::CPPTYPE_ENUM: {
      if (auto* operation = dynamic_cast<pb::Operation*>(message)) {
        const auto& kinds = sites.kinds.at(operation->attributes_case());
        operation->set_kind(kinds[random->Below(kinds.size())]);
        return;
      }
      const int values = field->enum_type()->value_count();
      const size_t pick = 1 + random->Below(static_cast<size_t>(values - 1));
      reflection->SetEnum(message, field, field->enum_type()->value(static_cast<int>(pick)));
      return;
    }
    case FieldDescriptor::CPPTYPE_STRING: {
      std::string text = site.index < 0
                             ? reflection->GetString(*message, field)
                             : reflection->GetRepeatedString(*message, field, site.index);
      if (!text.empty()) text[random->Below(text.size())] = static_cast<char>(random->Below(128));
      if (site.index < 0) {
        reflection->SetString(message, field, text);
      } else {
        reflection->SetRepeatedString(message, field, site.index, text);
      }
      return;
    }
    default:
      return;
  }
}

}  // namespace

uint64_t ModuleMutator::Next() {  // splitmix64
  state_ += 0x9e3779b97f4a7c15;
  uint64_t z = state_;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

size_t ModuleMutator::Below(size_t bound) { return static_cast<size_t>(Next() % bound); }

std::string ModuleMutator::Mutate(const std::string& bytes) {
  return OneIn(5) ? MutateBytes(bytes) : MutateFields(bytes);
}

std::string ModuleMutator::MutateBytes(const std::string& bytes) {
  std::string result = bytes;
  for (size_t changes = 1 + Below(3); changes > 0; --changes) {
    if (result.empty()) return result;
    const size_t at = Below(result.size());
    const size_t length = std::min(1 + Below(16), result.size() - at);
    switch (Below(6)) {
      case 0:
        result[at] = static_cast<char>(result[at] ^ (1 << Below(8)));
        break;
      case 1:
        result[at] = static_cast<char>(Next());
        break;
      case 2:
        result.resize(at);
        break;
      case 3:
        result.insert(at, std::string(length, static_cast<char>(Next())));
        break;
      case 4:
        result.erase(at, length);
        break;
      default:
        result.insert(Below(result.size()), result.substr(at, length));
        break;
    }
  }
  return result;
}

std::string ModuleMutator::MutateFields(const std::string& bytes) {
  pb::Module module;
  if (!module.ParseFromString(bytes)) return bytes;
  for (size_t changes = 1 + Below(3); changes > 0; --changes) {
    const Sites sites(&module);
    const bool structural = sites.ordinary.empty() || OneIn(12);
    const std::vector<Site>& from = structural ? sites.structural : sites.ordinary;
    if (from.empty()) break;
    Change(from[Below(from.size())], sites, this);
  }
  return wire::DeterministicBytes(module);
}

std::string ModuleMutator::MutateText(const std::string& text) {
  std::vector<std::string> words;  // with what separates them
  for (char c : text) {
    const bool word = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '%';
    const bool follows = word && !words.empty() &&
                         (std::isalnum(static_cast<unsigned char>(words.back().back())) != 0 ||
                          words.back().back() == '_' || words.back().back() == '%');
    if (follows) {
      words.back() += c;
    } else {
      words.emplace_back(1, c);
    }
  }
  for (size_t changes = 1 + Below(3); changes > 0 && !words.empty(); --changes) {
    const size_t at = Below(words.size());
    const size_t other = Below(words.size());
    switch (Below(4)) {
      case 0:
        std::swap(words[at], words[other]);
        break;
      case 1:
        words[at] = words[other];
        break;
      case 2:
        words.erase(words.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      default:
        words.insert(words.begin() + static_cast<std::ptrdiff_t>(at), words[other]);
        break;
    }
  }
  std::string result;
  for (const std::string& word : words) result += word;
  return result;
}

}  // namespace intent::testing
