#include "compiler/ir/codec.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "compiler/ir/parse.h"
#include "compiler/ir/print.h"
#include "google/protobuf/util/message_differencer.h"
#include "intent/kir/v1/kir.pb.h"
#include "tests/support/recorded_modules.h"

namespace intent {
namespace {

namespace pb = ::intent::kir::v1;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::string Everything() { return testing::ReadFile("tests/wire/v1/everything.kir"); }

std::unique_ptr<Module> Parse(const std::string& text) {
  ParsedModule parsed = ParseModule(text);
  EXPECT_TRUE(parsed.ok()) << ToString(parsed.diagnostics[0]);
  return std::move(parsed.module);
}

pb::Module MessageOf(const std::string& text) {
  pb::Module message;
  EXPECT_TRUE(message.ParseFromString(EncodeModule(*Parse(text))));
  return message;
}

const char kSmall[] = R"(
constexpr c0: i64
kernel (%0: view<in, f32, [s0]>, %1: view<out, f32, [s0]>) {
  %2 = view_load %0 [:] : tensor<f32, [s0]>
  %3 = constant true : bool
  %4 = if %3 {
    yield %2
  } else {
    yield %2
  } : tuple<tensor<f32, [s0]>>
  %5 = unary exp %2 : tensor<f32, [s0]>
  view_store %1 [:] = %5
  return
}
)";

// ---------------------------------------------------------------------------------------------
// Completeness

void AddFields(const Descriptor* message, std::set<const FieldDescriptor*>* fields) {
  for (int i = 0; i < message->field_count(); ++i) {
    const FieldDescriptor* field = message->field(i);
    if (!fields->insert(field).second) continue;
    if (field->message_type() != nullptr) AddFields(field->message_type(), fields);
  }
}

// Fields without presence count only if they are not at their default: those that are listed.
void RemoveSet(const Message& message, std::set<const FieldDescriptor*>* fields) {
  const auto* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> set;
  reflection->ListFields(message, &set);
  for (const FieldDescriptor* field : set) {
    fields->erase(field);
    if (field->message_type() == nullptr) continue;
    const int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      RemoveSet(field->is_repeated() ? reflection->GetRepeatedMessage(message, field, i)
                                     : reflection->GetMessage(message, field),
                fields);
    }
  }
}

TEST(Codec, KeepsEveryFieldOfTheSchema) {
  const pb::Module message = MessageOf(Everything());
  std::set<const FieldDescriptor*> missing;
  AddFields(pb::Module::descriptor(), &missing);
  RemoveSet(message, &missing);
  // Only readers know subtraction: normal forms add with negative coefficients.
  missing.erase(pb::Extent::descriptor()->FindFieldByNumber(pb::Extent::kSubFieldNumber));
  for (const FieldDescriptor* field : missing) {
    ADD_FAILURE() << "everything.kir leaves " << field->full_name() << " at its default";
  }

  const DecodedModule decoded = DecodeModule(message.SerializeAsString());
  ASSERT_TRUE(decoded.ok()) << ToString(decoded.diagnostics[0]);
  pb::Module again;
  ASSERT_TRUE(again.ParseFromString(EncodeModule(*decoded.module)));
  google::protobuf::util::MessageDifferencer differencer;
  std::string difference;
  differencer.ReportDifferencesToString(&difference);
  EXPECT_TRUE(differencer.Compare(message, again)) << difference;
}

TEST(Codec, KeepsEveryOperation) {
  const pb::Module message = MessageOf(Everything());
  std::set<int> kinds;
  for (const pb::Function& function : message.functions()) {
    for (const pb::Operation& operation : function.operations()) kinds.insert(operation.kind());
  }
  for (int i = 1; i < pb::OpKind_descriptor()->value_count(); ++i) {
    const auto* value = pb::OpKind_descriptor()->value(i);
    EXPECT_TRUE(kinds.count(value->number())) << "everything.kir lacks " << value->name();
  }
}

// Encoder and decoder could exchange two fields and still agree with each other.
TEST(Codec, ReadsEachAttributeIntoItsPlace) {
  const DecodedModule decoded = DecodeModule(EncodeModule(*Parse(R"(
constexpr c0: bool
kernel (%0: tensor<f32, [2, 3]>, %1: f32, %2: index, %3: view<inout, i32, [4]>) {
  %4 = scan %0, %1 axis 1 inclusive=c0 combine add : tensor<f32, [2, 3]>
  %5 = contract %0, %0 reduce [(1, 2)] batch [(3, 4)] : f32
  %6 = binary sub %1, %1 flush_to_zero : f32
  %7 = gather %0 [%2:%2, 5] fill %1 : f32
  %8 = atomic_rmw min %3 [%2] = %2 order acquire : i32
  %9 = scaled_contract %0, %0, %0, %0 lhs e2m1_e4m3 rhs e4m3_e8m0 group 16 : f32
  %10 = constant -2 : i16
  return
})")));
  ASSERT_TRUE(decoded.ok());
  const Module& module = *decoded.module;
  const std::vector<Op*>& ops = module.kernel_function().body.ops;
  const ScanAttr& scan = ops[0]->attr<ScanAttr>();
  EXPECT_EQ(scan.axis, StaticInt(1));
  EXPECT_EQ(scan.combine, CombineKind::kAdd);
  EXPECT_EQ(scan.reverse, StaticInt(0));
  ASSERT_FALSE(scan.inclusive.resolved());
  EXPECT_EQ(module.constexpr_nodes[scan.inclusive.expr].op, ConstexprOp::kParameter);
  EXPECT_EQ(ops[1]->attr<ContractAttr>(), (ContractAttr{{{1, 2}}, {{3, 4}}}));
  EXPECT_EQ(ops[2]->attr<BinaryAttr>(), (BinaryAttr{BinaryKind::kSub, 0, 1}));
  const IndexAttr gather{{{IndexTermKind::kSlice, 0}, {IndexTermKind::kStatic, 5}}, false, true};
  EXPECT_EQ(ops[3]->attr<IndexAttr>(), gather);
  EXPECT_EQ(ops[4]->attr<AtomicAttr>().rmw, RmwKind::kMin);
  EXPECT_EQ(ops[4]->attr<AtomicAttr>().order, MemoryOrder::kAcquire);
  EXPECT_EQ(ops[5]->attr<ScaledAttr>(),
            (ScaledAttr{ScaledFormat::kE2M1E4M3, ScaledFormat::kE4M3E8M0, 16}));
  EXPECT_EQ(ops[6]->attr<ConstantAttr>().value, (ScalarValue{DType::kI16, 0xfffe}));
}

// ---------------------------------------------------------------------------------------------
// Deterministic bytes

// x + y where each of the loads, the extents and the constexprs are made in either order.
std::unique_ptr<Module> Sum(bool reversed) {
  auto module = std::make_unique<Module>();
  module->constexprs.resize(2);
  const auto parameter = [&](uint32_t index) {
    ConstexprNode node;
    node.op = ConstexprOp::kParameter;
    node.index = index;
    module->constexpr_nodes.push_back(node);
    return static_cast<ConstexprId>(module->constexpr_nodes.size() - 1);
  };
  const ConstexprId first = parameter(reversed ? 1 : 0), second = parameter(reversed ? 0 : 1);
  module->functions.push_back(std::make_unique<Function>());
  Function& f = *module->functions[0];
  f.is_kernel = true;
  f.symbol_count = 2;
  const Type index = Type::Scalar(DType::kIndex);
  const ValueId n = f.NewArgument(&f.body, index);
  const ValueId m = f.NewArgument(&f.body, index);
  f.parameters = {{.type = index}, {.type = index}};
  const auto use = [&](ConstexprId id) {
    return f.NewOp(OpKind::kConstexpr, index, {}, ConstexprAttr{id});
  };
  Op *c0, *c1;
  if (reversed) {
    c1 = use(first);
    c0 = use(second);
    f.NewOp(OpKind::kConstexpr, index, {}, ConstexprAttr{second});  // in no block
  } else {
    c0 = use(first);
    c1 = use(second);
  }
  const Extent a = Extent::Value(c0->result) * Extent::Symbol(0), b = Extent::Value(c1->result);
  Op* full = f.NewOp(OpKind::kFull, Type::Tensor(DType::kIndex, {reversed ? b + a : a + b}),
                     {reversed ? m : n});
  if (reversed) full->operands = {n};
  Op* end = f.NewOp(OpKind::kReturn, Type::None(), {});
  f.body.ops = {c0, c1, full, end};
  return module;
}

TEST(Codec, EqualProgramsHaveEqualBytesHoweverTheyWereMade) {
  EXPECT_EQ(EncodeModule(*Sum(false)), EncodeModule(*Sum(true)));
  EXPECT_EQ(PrintModule(*Sum(false)), PrintModule(*Sum(true)));
}

TEST(Codec, AnyNumberingDecodesToTheSameProgram) {
  const pb::Module canonical = MessageOf(kSmall);
  pb::Module message = canonical;
  pb::Function* function = message.mutable_functions(0);
  // Values, operations and blocks (but the body) numbered from the end.
  const uint32_t values = static_cast<uint32_t>(function->value_types_size());
  const uint32_t operations = static_cast<uint32_t>(function->operations_size());
  const uint32_t blocks = static_cast<uint32_t>(function->blocks_size());
  const auto block_number = [&](uint32_t b) { return b == 0 ? 0 : blocks - b; };
  std::reverse(function->mutable_value_types()->begin(), function->mutable_value_types()->end());
  for (uint32_t i = 0; i < operations / 2; ++i) {
    function->mutable_operations()->SwapElements(static_cast<int>(i),
                                                 static_cast<int>(operations - 1 - i));
  }
  for (pb::Operation& operation : *function->mutable_operations()) {
    operation.set_result(values - 1 - operation.result());
    for (uint32_t& operand : *operation.mutable_operands()) operand = values - 1 - operand;
    for (uint32_t& region : *operation.mutable_regions()) region = block_number(region);
  }
  for (uint32_t i = 1; i < blocks - i; ++i) {
    function->mutable_blocks()->SwapElements(static_cast<int>(i), static_cast<int>(blocks - i));
  }
  for (pb::Block& block : *function->mutable_blocks()) {
    for (uint32_t& argument : *block.mutable_arguments()) argument = values - 1 - argument;
    for (uint32_t& operation : *block.mutable_operations()) operation = operations - 1 - operation;
  }
  ASSERT_NE(message.SerializeAsString(), canonical.SerializeAsString());
  const DecodedModule decoded = DecodeModule(message.SerializeAsString());
  ASSERT_TRUE(decoded.ok()) << ToString(decoded.diagnostics[0]);
  EXPECT_EQ(EncodeModule(*decoded.module), EncodeModule(*Parse(kSmall)));
  // Ordinals are positions in the table that was sent.
  EXPECT_EQ(decoded.module->kernel_function().body.ops[0]->ordinal, operations - 1);
}

TEST(Codec, ExtentsOutOfNormalFormAreNormalised) {
  pb::Module message = MessageOf("kernel (%0: tensor<f32, [2*s0 + 1]>) {\n}");
  pb::Function* function = message.mutable_functions(0);
  function->clear_extents();
  function->add_extents()->set_constant(1);
  function->add_extents()->set_symbol(0);
  const auto pair = [&](pb::ExtentPair* node, uint32_t lhs, uint32_t rhs) {
    node->set_lhs(lhs);
    node->set_rhs(rhs);
  };
  pair(function->add_extents()->mutable_add(), 0, 1);  // 1 + s0
  pair(function->add_extents()->mutable_add(), 2, 1);  // 1 + s0 + s0
  pair(function->add_extents()->mutable_sub(), 3, 0);  // s0 + s0
  pair(function->add_extents()->mutable_add(), 0, 4);  // 1 + 2*s0
  for (pb::Type& type : *function->mutable_types()) {
    if (type.kind() == pb::TYPE_TENSOR) type.set_shape(0, 5);
  }
  const DecodedModule decoded = DecodeModule(message.SerializeAsString());
  ASSERT_TRUE(decoded.ok()) << ToString(decoded.diagnostics[0]);
  EXPECT_EQ(EncodeModule(*decoded.module),
            EncodeModule(*Parse("kernel (%0: tensor<f32, [2*s0 + 1]>) {\n}")));
}

TEST(Codec, CanonicalBytesForgetHelperOrderAndHelpersWithoutCalls) {
  const char* const kHelpers[] = {"(%0: f32) -> f32 {\n return %0\n}\n",
                                  "(%0: i32) -> i32 {\n return %0\n}\n"};
  const auto kernel = [](int first, int second) {
    return "kernel (%0: f32, %1: i32) {\n%2 = call f" + std::to_string(first) +
           " %0 : f32\n%3 = call f" + std::to_string(second) + " %1 : i32\nreturn\n}\n";
  };
  const auto one = Parse(std::string("fn f0") + kHelpers[0] + "fn f1" + kHelpers[1] + kernel(0, 1));
  const auto two =
      Parse(kernel(3, 2) + "fn f1 () {\nreturn\n}\nfn f2" + kHelpers[1] + "fn f3" + kHelpers[0]);
  EXPECT_NE(EncodeModule(*one), EncodeModule(*two));
  EXPECT_EQ(EncodeCanonical(*one), EncodeCanonical(*two));
}

// ---------------------------------------------------------------------------------------------
// Refusals

struct Damage {
  const char* name;
  DiagnosticCode code;
  std::function<void(pb::Module*)> apply;
};

class Refusals : public ::testing::TestWithParam<Damage> {};

TEST_P(Refusals, HaveTheirCode) {
  pb::Module message = MessageOf(kSmall);
  GetParam().apply(&message);
  const DecodedModule decoded = DecodeModule(message.SerializeAsString());
  ASSERT_FALSE(decoded.ok());
  EXPECT_EQ(CodeText(decoded.diagnostics[0].code), CodeText(GetParam().code))
      << ToString(decoded.diagnostics[0]);
}

pb::Function* F(pb::Module* m) { return m->mutable_functions(0); }
// Operations of kSmall: load 0, constant 1, if 2, yield 3, yield 4, exp 5, store 6, return 7.
pb::Operation* O(pb::Module* m, int index) { return F(m)->mutable_operations(index); }

constexpr auto kMalformed = DiagnosticCode::kMalformedModule;
constexpr auto kUnknown = DiagnosticCode::kUnknownField;
constexpr auto kReference = DiagnosticCode::kBadReference;
constexpr auto kStructure = DiagnosticCode::kBadStructure;

INSTANTIATE_TEST_SUITE_P(
    Codec, Refusals,
    ::testing::ValuesIn(std::vector<Damage>{
        {"NoFormat", kMalformed, [](auto* m) { m->clear_format(); }},
        {"LaterFormat", kMalformed, [](auto* m) { m->set_format(2); }},
        {"UnknownFieldOfModule", kUnknown,
         [](auto* m) { m->GetReflection()->MutableUnknownFields(m)->AddVarint(99, 1); }},
        {"UnknownFieldInside", kUnknown,
         [](auto* m) {
           auto* unary = O(m, 5)->mutable_unary();
           unary->GetReflection()->MutableUnknownFields(unary)->AddLengthDelimited(77, "x");
         }},
        {"KnownFieldOfAnotherType", kUnknown,
         [](auto* m) { m->GetReflection()->MutableUnknownFields(m)->AddFixed32(6, 1); }},
        {"UnknownOperation", kUnknown,
         [](auto* m) { O(m, 5)->set_kind(static_cast<pb::OpKind>(1000)); }},
        {"UnknownEnumInside", kUnknown,
         [](auto* m) { O(m, 5)->mutable_unary()->set_kind(static_cast<pb::UnaryKind>(-1)); }},
        {"NoOperationKind", kMalformed, [](auto* m) { O(m, 5)->clear_kind(); }},
        {"NoUnaryKind", kMalformed, [](auto* m) { O(m, 5)->mutable_unary()->clear_kind(); }},
        {"NoAttributes", kMalformed, [](auto* m) { O(m, 5)->clear_attributes(); }},
        {"OtherAttributes", kMalformed, [](auto* m) { O(m, 5)->mutable_axis(); }},
        {"StrayAttributes", kMalformed, [](auto* m) { O(m, 7)->mutable_axis(); }},
        {"EmptyStaticInt", kMalformed,
         [](auto* m) { O(m, 5)->mutable_unary()->mutable_approximate(); }},
        {"NoSuchConstexprNode", kReference,
         [](auto* m) { O(m, 5)->mutable_unary()->mutable_approximate()->set_expr(0); }},
        {"ConstantOfWrongSize", kMalformed,
         [](auto* m) { O(m, 1)->mutable_constant()->set_bits("ab"); }},
        {"ConstantBeyondItsWidth", kMalformed,
         [](auto* m) { O(m, 1)->mutable_constant()->set_bits("\2"); }},
        {"StrayPosition", kMalformed,
         [](auto* m) { O(m, 0)->mutable_index()->mutable_terms(0)->mutable_position()->set_value(1); }},
        {"NoSuchOperand", kReference, [](auto* m) { O(m, 5)->set_operands(0, 1000); }},
        {"NoSuchResult", kReference, [](auto* m) { O(m, 5)->set_result(1000); }},
        {"ResultDefinedTwice", kStructure,
         [](auto* m) { O(m, 5)->set_result(O(m, 1)->result()); }},
        {"ValueNotDefined", kStructure, [](auto* m) { F(m)->add_value_types(0); }},
        {"NoSuchRegion", kReference, [](auto* m) { O(m, 2)->set_regions(0, 9); }},
        {"RegionIsTheBody", kStructure, [](auto* m) { O(m, 2)->set_regions(0, 0); }},
        {"RegionTwice", kStructure, [](auto* m) { O(m, 2)->set_regions(0, 2); }},
        {"MoreRegionsThanBlocks", kStructure, [](auto* m) { O(m, 2)->add_regions(1); }},
        {"BlockOfNoOperation", kStructure, [](auto* m) { F(m)->add_blocks(); }},
        {"CycleOfBlocks", kStructure,
         [](auto* m) {
           F(m)->add_blocks()->add_operations(8);
           O(m, 0);
           auto* op = F(m)->add_operations();
           *op = F(m)->operations(2);
           op->clear_regions();
           op->add_regions(3);
           op->set_result(static_cast<uint32_t>(F(m)->value_types_size()));
           F(m)->add_value_types(0);
         }},
        {"OperationInTwoBlocks", kStructure,
         [](auto* m) { F(m)->mutable_blocks(1)->add_operations(4); }},
        {"OperationInNoBlock", kStructure,
         [](auto* m) { F(m)->mutable_blocks(0)->mutable_operations()->RemoveLast(); }},
        {"NoSuchOperation", kReference,
         [](auto* m) { F(m)->mutable_blocks(0)->add_operations(1000); }},
        {"NoBody", kStructure, [](auto* m) { F(m)->clear_blocks(); }},
        {"ParametersUnlikeArguments", kStructure, [](auto* m) { F(m)->add_parameters(); }},
        {"NoSuchType", kReference, [](auto* m) { F(m)->set_value_types(0, 1000); }},
        {"NoSuchResultType", kReference, [](auto* m) { F(m)->set_result_type(1000); }},
        {"TypeWithoutKind", kMalformed, [](auto* m) { F(m)->mutable_types(0)->clear_kind(); }},
        {"TypeWithStrayField", kMalformed, [](auto* m) { F(m)->mutable_types(0)->add_fields(0); }},
        {"ViewWithoutAccess", kMalformed, [](auto* m) { F(m)->mutable_types(0)->clear_access(); }},
        {"NoSuchExtent", kReference, [](auto* m) { F(m)->mutable_types(0)->set_shape(0, 9); }},
        {"TypeOfItself", kReference,
         [](auto* m) {
           auto* type = F(m)->add_types();
           type->set_kind(pb::TYPE_TUPLE);
           type->add_fields(static_cast<uint32_t>(F(m)->types_size() - 1));
         }},
        {"ExtentOfItself", kReference,
         [](auto* m) { F(m)->add_extents()->mutable_add()->set_lhs(1); }},
        {"ExtentWithoutContent", kMalformed, [](auto* m) { F(m)->add_extents(); }},
        {"NoSuchSymbol", kReference, [](auto* m) { F(m)->add_extents()->set_symbol(1); }},
        {"NoSuchExtentValue", kReference, [](auto* m) { F(m)->add_extents()->set_value(1000); }},
        {"NoSuchConstexprInExtent", kReference,
         [](auto* m) { F(m)->add_extents()->set_constexpr_parameter(1); }},
        {"ExtentOverflows", DiagnosticCode::kBadExtent,
         [](auto* m) {
           F(m)->add_extents()->set_constant(INT64_MAX);
           auto* add = F(m)->add_extents()->mutable_add();
           add->set_lhs(1);
           add->set_rhs(1);
         }},
        {"NoSuchKernel", kReference, [](auto* m) { m->set_kernel(1); }},
        {"NoFunctions", kReference, [](auto* m) { m->clear_functions(); }},
        {"NoSuchCallee", kReference,
         [](auto* m) {
           O(m, 5)->set_kind(pb::OP_CALL);
           O(m, 5)->mutable_call()->set_function(1);
         }},
        {"ConstexprWithoutType", kMalformed, [](auto* m) { m->add_constexprs(); }},
        {"NoSuchEnum", kReference,
         [](auto* m) {
           auto* type = m->add_constexprs()->mutable_type();
           type->set_kind(pb::CONSTEXPR_ENUM);
         }},
        {"DefaultOfAnotherKind", kMalformed,
         [](auto* m) { m->mutable_constexprs(0)->mutable_default_value()->set_bool_value(true); }},
        {"ConstexprOperandAfterUser", kReference,
         [](auto* m) {
           auto* node = m->add_constexpr_nodes();
           node->set_op(pb::CONSTEXPR_OP_NEGATE);
           node->mutable_type()->set_kind(pb::CONSTEXPR_INT);
           node->add_operands(0);
         }},
        {"ConstexprOfWrongArity", kStructure,
         [](auto* m) {
           auto* node = m->add_constexpr_nodes();
           node->set_op(pb::CONSTEXPR_OP_ADD);
           node->mutable_type()->set_kind(pb::CONSTEXPR_INT);
         }},
    }),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Codec, RefusesWhatIsNoMessage) {
  EXPECT_FALSE(DecodeModule("").ok());
  EXPECT_FALSE(DecodeModule("\xff\xff\xff\xff").ok());
  EXPECT_FALSE(DecodeModule(std::string(1000, '\n')).ok());
  EXPECT_FALSE(DecodeModule("\x0b\x0c").ok());  // a group
}

// ---------------------------------------------------------------------------------------------
// Limits: at the limit a module decodes, one beyond it does not.

DiagnosticCode CodeOf(const pb::Module& message, const DecodeLimits& limits) {
  const DecodedModule decoded = DecodeModule(message.SerializeAsString(), limits);
  EXPECT_FALSE(decoded.ok());
  return decoded.ok() ? DiagnosticCode::kSyntax : decoded.diagnostics[0].code;
}

TEST(CodecLimits, HoldAtExactlyTheirValue) {
  const pb::Module message = MessageOf(kSmall);
  const std::string bytes = message.SerializeAsString();
  const pb::Function& f = message.functions(0);
  DecodeLimits exact;
  exact.bytes = bytes.size();
  exact.functions = 1;
  exact.parameters = 2;
  exact.operations = static_cast<size_t>(f.operations_size());
  exact.blocks = static_cast<size_t>(f.blocks_size());
  exact.values = static_cast<size_t>(f.value_types_size());
  exact.operands = 2;
  exact.region_depth = 2;
  exact.types = static_cast<size_t>(f.types_size());
  exact.type_depth = 2;
  exact.type_size = 4;  // a tuple of a tensor of s0, which is one term of one factor
  exact.rank = 1;
  exact.symbols = 1;
  exact.extents = static_cast<size_t>(f.extents_size());
  const DecodedModule decoded = DecodeModule(bytes, exact);
  EXPECT_TRUE(decoded.ok()) << ToString(decoded.diagnostics[0]);
  for (size_t DecodeLimits::*limit :
       {&DecodeLimits::bytes, &DecodeLimits::functions, &DecodeLimits::parameters,
        &DecodeLimits::operations, &DecodeLimits::blocks, &DecodeLimits::values,
        &DecodeLimits::operands, &DecodeLimits::region_depth, &DecodeLimits::types,
        &DecodeLimits::type_depth, &DecodeLimits::type_size, &DecodeLimits::rank,
        &DecodeLimits::symbols, &DecodeLimits::extents}) {
    DecodeLimits less = exact;
    --(less.*limit);
    EXPECT_EQ(CodeText(CodeOf(message, less)), "E0901") << less.*limit;
  }
}

TEST(CodecLimits, BoundNestingOfBlocks) {
  const auto nested = [](int depth) {
    std::string text = "kernel (%0: bool) {\n";
    for (int i = 1; i < depth; ++i) text += "if %0 {\n";
    for (int i = 1; i < depth; ++i) text += "} else {\n}\n";
    return text + "}\n";
  };
  DecodeLimits generous;
  generous.region_depth = 1000;
  const auto encode = [&](int depth) {
    const ParsedModule parsed = ParseModule(nested(depth), "", generous);
    EXPECT_TRUE(parsed.ok());
    return EncodeModule(*parsed.module);
  };
  EXPECT_TRUE(DecodeModule(encode(256)).ok());
  const DecodedModule decoded = DecodeModule(encode(257));
  ASSERT_FALSE(decoded.ok());
  EXPECT_EQ(CodeText(decoded.diagnostics[0].code), "E0901");
}

// A few bytes that mean a great deal: tuples of tuples, sums of sums, doubled each time.
TEST(CodecLimits, BoundWhatSharingHides) {
  pb::Module types = MessageOf(kSmall);
  for (int i = 0; i < 30; ++i) {
    pb::Type* type = types.mutable_functions(0)->add_types();
    type->set_kind(pb::TYPE_TUPLE);
    const uint32_t last = static_cast<uint32_t>(types.functions(0).types_size() - 2);
    type->add_fields(last);
    type->add_fields(last);
  }
  EXPECT_EQ(CodeText(CodeOf(types, {})), "E0901");

  pb::Module extents = MessageOf(kSmall);
  for (int i = 0; i < 40; ++i) {
    pb::Function* f = extents.mutable_functions(0);
    f->add_extents()->set_constant(i + 2);
    const uint32_t constant = static_cast<uint32_t>(f->extents_size() - 1);
    pb::ExtentPair* divide = f->add_extents()->mutable_floor_div();
    divide->set_lhs(constant - 1);
    divide->set_rhs(constant);
    pb::ExtentPair* add = f->add_extents()->mutable_add();
    add->set_lhs(constant - 1);
    add->set_rhs(constant + 1);
  }
  EXPECT_EQ(CodeText(CodeOf(extents, {})), "E0306");
}

// Sixteen mebibytes of the smallest messages would take a gigabyte once parsed.
TEST(CodecLimits, RefuseAFloodBeforeItIsAllocated) {
  std::string flood;
  std::string function(4u << 20, '\0');
  for (size_t i = 0; i < function.size(); i += 2) function[i] = 0x22;  // empty extents
  pb::Module module;
  module.set_format(1);
  std::string bytes = module.SerializeAsString();
  bytes += "\x2a";  // functions
  uint64_t size = function.size();
  for (; size >= 0x80; size >>= 7) bytes += static_cast<char>(size | 0x80);
  bytes += static_cast<char>(size);
  const DecodedModule decoded = DecodeModule(bytes + function);
  ASSERT_FALSE(decoded.ok());
  EXPECT_EQ(CodeText(decoded.diagnostics[0].code), "E0901");
}

}  // namespace
}  // namespace intent
