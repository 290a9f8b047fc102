// Runs the sections of tests/conformance/run/*.kir (README.md).

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "compiler/numerics/scalar.h"
#include "tests/support/cuda_way.h"
#include "tests/support/emulator.h"
#include "tests/support/kernel_runner.h"

namespace intent::testing {
namespace {

// Elements on either side of what views reach.
constexpr int64_t kMargin = 80;  // of any dtype a multiple of 16 bytes: rows may be held (docs/decisions/0018)

struct ViewSetup {
  std::vector<std::string> data;
  std::vector<int64_t> strides;
  std::optional<size_t> like;  // another parameter
  int64_t shift = 0;
  std::vector<std::string> expected;
  bool checked = false;
  double tolerance = 0;
};

struct Call {
  std::string line;
  std::map<char, std::vector<std::string>> dtypes;  // by the letter that stands for them
  std::map<uint32_t, int64_t> symbols;
  std::map<size_t, ViewSetup> views;  // by parameter
  std::map<size_t, std::string> scalars;
  bool fails = false;
};

struct Section {
  std::string file;
  std::string title;
  std::string text;
};

std::vector<Section> Sections() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator("tests/conformance/run")) {
    if (entry.path().extension() == ".kir") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Section> sections;
  for (const auto& file : files) {
    std::ifstream stream(file);
    std::string line;
    while (std::getline(stream, line)) {
      constexpr std::string_view kMark = "// --- ";
      if (line.starts_with(kMark)) {
        sections.push_back({file.stem(), line.substr(kMark.size()), ""});
      } else if (!sections.empty()) {
        sections.back().text += line + "\n";
      }
    }
  }
  return sections;
}

void PrintTo(const Section& section, std::ostream* stream) { *stream << section.title; }

std::vector<std::string> Words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// False: a line that looks like a directive but is none.
bool ReadDirective(const std::string& line, std::vector<Call>* calls) {
  if (!line.starts_with("// ")) return true;
  const std::string content = line.substr(3);
  const std::string word = content.substr(0, content.find(' '));
  if (word == "call") {
    Call call{.line = content};
    for (const std::string& item : Words(content.substr(4))) {
      const size_t equals = item.find('=');
      if (equals == 1 && std::isupper(static_cast<unsigned char>(item[0]))) {
        std::istringstream dtypes(item.substr(2));
        for (std::string name; std::getline(dtypes, name, ',');) {
          call.dtypes[item[0]].push_back(name);
        }
        continue;
      }
      if (item[0] != 's' || equals == std::string::npos) return false;
      call.symbols[static_cast<uint32_t>(std::stoul(item.substr(1)))] =
          std::stoll(item.substr(equals + 1));
    }
    calls->push_back(std::move(call));
    return true;
  }
  if (calls->empty()) return word != "data" && word != "expect";  // a remark before the kernel
  Call& call = calls->back();
  if (word == "fails") {
    call.fails = true;
    return true;
  }
  const size_t colon = content.find(':');
  if (colon == std::string::npos) return false;
  const size_t parameter = std::stoul(content.substr(word.size()));
  const std::vector<std::string> words = Words(content.substr(colon + 1));
  ViewSetup& view = call.views[parameter];
  if (word == "data") {
    view.data = words;
  } else if (word == "strides") {
    for (const std::string& stride : words) view.strides.push_back(std::stoll(stride));
  } else if (word == "place" && words.size() == 3 && words[0] == "like") {
    view.like = std::stoul(words[1]);
    view.shift = std::stoll(words[2]);
  } else if (word == "expect") {
    view.checked = true;
    view.expected = words;
  } else if (word == "tolerance" && words.size() == 1) {
    view.tolerance = std::stod(words[0]);
  } else if (word == "scalar" && words.size() == 1) {
    call.views.erase(parameter);
    call.scalars[parameter] = words[0];
  } else {
    return false;
  }
  return true;
}

// Words for extremes and for patterns of bits; nullopt: a number.
std::optional<ScalarValue> Named(DType dtype, const std::string& text) {
  if (text.starts_with("0x")) return ScalarValue{dtype, std::stoull(text, nullptr, 16)};
  if (IsFloat(dtype)) {
    const bool negative = text[0] == '-';
    const std::string word = text.substr(negative ? 1 : 0);
    if (word != "max" && word != "tiny") return std::nullopt;
    ScalarValue value{.dtype = dtype, .bits = word == "tiny"};
    if (word == "max") {
      // Codes of a format are ordered as their values.
      for (int bit = BitWidth(dtype) - 2; bit >= 0; --bit) {
        const ScalarValue more{dtype, value.bits | static_cast<unsigned __int128>(1) << bit};
        if (std::isfinite(numerics::AsDouble(more))) value = more;
      }
    }
    if (negative) value.bits |= static_cast<unsigned __int128>(1) << (BitWidth(dtype) - 1);
    return value;
  }
  // A word, and perhaps a number that is added to it.
  const int highest = BitWidth(dtype) - 1;
  const __int128 one = 1;
  const std::string word = text.substr(0, 3);
  __int128 value;
  if (word == "top") {
    value = highest;
  } else if (word == "min") {
    value = IsSignedInteger(dtype) ? -(one << highest) : 0;
  } else if (word == "max") {
    value = (one << (highest + !IsSignedInteger(dtype))) - 1;
  } else {
    return std::nullopt;
  }
  return numerics::MakeInteger(dtype, value + (text.size() > 3 ? std::stoll(text.substr(3)) : 0));
}

ScalarValue Number(DType dtype, const std::string& text) {
  if (const auto named = Named(dtype, text)) return *named;
  if (text == "true" || text == "false") return numerics::MakeInteger(dtype, text == "true");
  if (IsFloat(dtype)) return numerics::MakeFloat(dtype, std::stod(text));
  if (text[0] != '-') return numerics::MakeInteger(dtype, std::stoull(text));
  return numerics::MakeInteger(dtype, std::stoll(text));
}

// The element of `count` at row-major position `linear`.
int64_t ElementAt(const ViewPlace& place, int64_t linear) {
  int64_t element = place.offset;
  for (size_t axis = place.extents.size(); axis-- > 0;) {
    element += linear % place.extents[axis] * place.strides[axis];
    linear /= place.extents[axis];
  }
  return element;
}

int64_t CountOf(const ViewPlace& place) {
  int64_t count = 1;
  for (int64_t extent : place.extents) count *= extent;
  return count;
}

// Arguments of a call; views by parameter in `position`.
CallData Arrange(const Function& function, const Call& call, std::map<size_t, size_t>* position) {
  CallData data;
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    const Type& type = function.parameters[i].type;
    if (!type.IsView()) {
      const auto given = call.scalars.find(i);
      data.scalars.push_back(
          Number(type.dtype(), given == call.scalars.end() ? "3" : given->second));
      continue;
    }
    const auto found = call.views.find(i);
    const ViewSetup setup = found == call.views.end() ? ViewSetup{} : found->second;
    ViewPlace place;
    for (const Extent& extent : type.shape()) {
      place.extents.push_back(*extent.Evaluate([&](AtomKind, uint32_t symbol) {
        const auto bound = call.symbols.find(symbol);
        return std::optional<int64_t>(bound == call.symbols.end() ? 4 : bound->second);
      }));
    }
    place.strides = setup.strides;
    if (place.strides.empty()) {
      place.strides.assign(place.extents.size(), 1);
      for (size_t axis = place.extents.size(); axis-- > 1;) {
        place.strides[axis - 1] = place.strides[axis] * std::max<int64_t>(place.extents[axis], 1);
      }
    }
    int64_t low = 0, high = 0;
    for (size_t axis = 0; axis < place.extents.size(); ++axis) {
      const int64_t reach = (std::max<int64_t>(place.extents[axis], 1) - 1) * place.strides[axis];
      (reach < 0 ? low : high) += reach;
    }
    if (setup.like) {
      const ViewPlace& other = data.views[position->at(*setup.like)];
      place.allocation = other.allocation;
      place.offset = other.offset + setup.shift;
    } else {
      place.allocation = data.allocations.size();
      place.offset = kMargin - low;
      Allocation allocation{.dtype = type.dtype()};
      allocation.tolerance.relative = setup.tolerance;
      data.allocations.push_back(std::move(allocation));
    }
    Allocation& allocation = data.allocations[place.allocation];
    const int64_t size = StorageBytes(type.dtype());
    const int64_t elements = place.offset + high + kMargin;
    // Whatever is not given: small whole numbers.
    for (auto at = static_cast<int64_t>(allocation.bytes.size()) / size; at < elements; ++at) {
      const int64_t value = (at * 7 + static_cast<int64_t>(i) * 5) % 11;
      const bool sign = IsFloat(type.dtype()) || IsSignedInteger(type.dtype());
      allocation.bytes.resize(static_cast<size_t>((at + 1) * size));
      numerics::StoreScalar(Number(type.dtype(), std::to_string(sign ? value - 5 : value)),
                            allocation.bytes.data() + at * size);
    }
    position->emplace(i, data.views.size());
    data.views.push_back(place);
    const bool every = !setup.data.empty() && setup.data[0] == "every";
    const int64_t count = CountOf(place);
    if (!setup.data.empty() && !every) {
      EXPECT_EQ(static_cast<int64_t>(setup.data.size()), count) << "data of parameter " << i;
      if (static_cast<int64_t>(setup.data.size()) != count) continue;
    }
    for (int64_t linear = 0; linear < count && !setup.data.empty(); ++linear) {
      const std::string& text = setup.data[every ? 1 : static_cast<size_t>(linear)];
      numerics::StoreScalar(Number(type.dtype(), text),
                            allocation.bytes.data() + ElementAt(place, linear) * size);
    }
  }
  return data;
}

void ExpectElements(const ViewPlace& place, DType dtype, const Outcome& outcome,
                    const ViewSetup& setup, size_t parameter) {
  const Allocation& allocation = outcome.allocations[place.allocation];
  ASSERT_EQ(static_cast<int64_t>(setup.expected.size()), CountOf(place));
  for (size_t i = 0; i < setup.expected.size(); ++i) {
    const uint8_t* address =
        allocation.bytes.data() + ElementAt(place, static_cast<int64_t>(i)) * StorageBytes(dtype);
    const ScalarValue got = numerics::LoadScalar(dtype, address);
    const ScalarValue want = Number(dtype, setup.expected[i]);
    bool same = got == want;
    if (IsFloat(dtype) && !same) {
      const double a = numerics::AsDouble(got), b = numerics::AsDouble(want);
      same = (std::isnan(a) && std::isnan(b)) ||
             (setup.tolerance > 0 && std::fabs(a - b) <= setup.tolerance * std::fabs(b));
    }
    EXPECT_TRUE(same) << "parameter " << parameter << " element " << i << " is "
                      << ElementText(dtype, address) << " instead of " << setup.expected[i];
  }
}

// The ordinal, parameter and axis that a `// error` mark names.
void ExpectMarkedError(const TestKernel& kernel, const std::string& text, const Outcome& outcome) {
  ASSERT_TRUE(outcome.failed) << "the call did not fail";
  const size_t line = kernel.SpanOf(outcome.ordinal).line;
  std::istringstream stream(text);
  std::string content;
  for (size_t number = 1; std::getline(stream, content); ++number) {
    const size_t mark = content.find("// error");
    if (mark == std::string::npos) continue;
    ASSERT_EQ(number, line) << outcome.message;
    for (const std::string& word : Words(content.substr(mark + 8))) {
      const std::string name = word.substr(0, word.find('='));
      const int value = std::stoi(word.substr(word.find('=') + 1));
      EXPECT_EQ(name == "axis" ? outcome.axis : outcome.parameter, value) << name;
    }
    return;
  }
  ADD_FAILURE() << "no line is marked: " << outcome.message;
}

// `text` with dtypes for the letters that stand for them.
std::string WithDTypes(const std::string& text, const std::map<char, std::string>& dtypes) {
  const auto is_word = [&](size_t at) {
    return at < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_');
  };
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto found = dtypes.find(text[i]);
    if (found == dtypes.end() || is_word(i + 1) || (i > 0 && is_word(i - 1))) {
      result += text[i];
    } else {
      result += found->second;
    }
  }
  return result;
}

// Every choice of a dtype for each letter.
std::vector<std::map<char, std::string>> Choices(const Call& call) {
  std::vector<std::map<char, std::string>> choices = {{}};
  for (const auto& [letter, names] : call.dtypes) {
    std::vector<std::map<char, std::string>> longer;
    for (const auto& choice : choices) {
      for (const std::string& name : names) {
        longer.push_back(choice);
        longer.back()[letter] = name;
      }
    }
    choices = std::move(longer);
  }
  return choices;
}

// All ways for the first choice of dtypes; for others those of the tile interpreter and one of
// compiled code, in turn. The environment's INTENT_WAYS keeps those with that text in their names;
// a text that no way's name has is a mistake of the caller's, not a test passed.
std::vector<Way> WaysFor(const Section& section, size_t choice) {
  std::vector<Way> ways, compiled;
  for (const std::vector<Way>* some : {&AllWays(), &EmulatedWays()}) {
    for (const Way& way : *some) (way.target.empty() ? ways : compiled).push_back(way);
  }
  if (choice > 0) compiled = {compiled[(section.title.size() + choice) % compiled.size()]};
  ways.insert(ways.end(), compiled.begin(), compiled.end());
  const char* const wanted = std::getenv("INTENT_WAYS");
  // Where nothing runs it, code for CUDA is only compiled, which takes longer than all the rest: of
  // every third section, or when it is asked for.
  if (choice == 0 && (RunsCuda() || wanted != nullptr || section.title.size() % 3 == 0)) {
    ways.insert(ways.end(), CudaWays().begin(), CudaWays().end());
  }
  if (wanted != nullptr) {
    std::erase_if(ways, [&](const Way& way) { return way.name.find(wanted) == std::string::npos; });
    if (choice == 0) {
      EXPECT_FALSE(ways.empty()) << "no way here has '" << wanted << "' in its name";
    }
  }
  return ways;
}

class Conformance : public ::testing::TestWithParam<Section> {
 protected:
  void Make(const TestKernel& kernel, const Call& call, const std::string& text,
            const std::vector<Way>& ways) {
    const Function& function = kernel.function();
    std::map<size_t, size_t> position;
    const CallData data = Arrange(function, call, &position);
    if (HasFailure()) return;
    const Outcome outcome = kernel.Interpret(data);
    if (call.fails) {
      ExpectMarkedError(kernel, text, outcome);
    } else {
      ASSERT_FALSE(outcome.failed) << outcome.message;
    }
    for (const auto& [parameter, setup] : call.views) {
      if (!setup.checked) continue;
      ExpectElements(data.views[position[parameter]], function.parameters[parameter].type.dtype(),
                     outcome, setup, parameter);
    }
    EXPECT_EQ(kernel.Disagreement(data, ways), "");
  }
};

TEST_P(Conformance, EveryWayDoesWhatIsWritten) {
  const std::string& text = GetParam().text;
  std::vector<Call> calls;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    ASSERT_TRUE(ReadDirective(line, &calls)) << line;
  }
  ASSERT_FALSE(calls.empty()) << "no call is made";
  struct Instance {
    std::unique_ptr<TestKernel> kernel;
    std::vector<Way> ways;
  };
  std::map<std::map<char, std::string>, Instance> instances;  // by dtypes
  for (const Call& call : calls) {
    SCOPED_TRACE(call.line);
    for (const auto& dtypes : Choices(call)) {
      std::string names;
      for (const auto& [letter, name] : dtypes) names += " " + name;
      SCOPED_TRACE(names);
      Instance& instance = instances[dtypes];
      std::string error;
      if (instance.kernel == nullptr) {
        instance.kernel = TestKernel::Parse(WithDTypes(text, dtypes), &error);
        instance.ways = WaysFor(GetParam(), instances.size() - 1);
      }
      ASSERT_NE(instance.kernel, nullptr) << error;
      Make(*instance.kernel, call, text, instance.ways);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Emulation, RunsBesideTheOtherWays) {
  if (!Emulator::Missing().empty()) GTEST_SKIP() << "no AArch64: " << Emulator::Missing();
}

INSTANTIATE_TEST_SUITE_P(Run, Conformance, ::testing::ValuesIn(Sections()),
                         [](const ::testing::TestParamInfo<Section>& info) {
                           std::string name = info.param.file + "_" + info.param.title;
                           for (char& c : name) {
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           }
                           return name + "_" + std::to_string(info.index);
                         });

}  // namespace
}  // namespace intent::testing
