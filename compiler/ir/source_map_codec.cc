#include "compiler/ir/source_map_codec.h"

#include "compiler/ir/utf8.h"
#include "compiler/ir/wire_bytes.h"
#include "compiler/ir/wire_check.h"
#include "intent/kir/v1/kir.pb.h"

namespace intent {
namespace {

namespace pb = ::intent::kir::v1;
using Error = std::optional<Diagnostic>;
using Strings = google::protobuf::RepeatedPtrField<std::string>;

Error Fail(DiagnosticCode code, std::string message) {
  return Diagnostic{.code = code, .message = std::move(message)};
}

void WriteSpan(const Span& span, pb::Span* out) {
  out->set_file(span.file);
  out->set_line(span.line);
  out->set_column(span.column);
  out->set_end_line(span.end_line);
  out->set_end_column(span.end_column);
}

void WriteStrings(const std::vector<std::string>& from, Strings* to) {
  for (const std::string& text : from) *to->Add() = ValidUtf8(text);
}

class Reader {
 public:
  explicit Reader(const SourceMapLimits& limits) : limits_(limits) {}

  Error Read(const pb::SourceMap& in, SourceMap* map) const {
    if (in.format() != 1) {
      return Fail(DiagnosticCode::kMalformedModule,
                  "the source map's format is " + std::to_string(in.format()) + ", known is 1");
    }
    if (Error e = ReadStrings(in.files(), &map->files)) return e;
    if (Error e = ReadSpans(in.spans(), in.files_size(), &map->spans)) return e;
    if (Error e = ReadString(in.kernel_name(), &map->kernel_name)) return e;
    if (Error e = ReadStrings(in.parameter_names(), &map->parameter_names)) return e;
    if (Error e = ReadSpans(in.parameter_spans(), in.files_size(), &map->parameter_spans)) return e;
    if (Error e = ReadStrings(in.symbol_names(), &map->symbol_names)) return e;
    if (Error e = ReadStrings(in.constexpr_names(), &map->constexpr_names)) return e;
    for (const pb::EnumNames& names : in.enums()) {
      if (Error e = ReadString(names.name(), &map->enum_names.emplace_back())) return e;
      if (Error e = ReadStrings(names.members(), &map->enum_member_names.emplace_back())) return e;
    }
    return std::nullopt;
  }

 private:
  Error ReadString(const std::string& in, std::string* out) const {
    if (in.size() > limits_.text_bytes) {
      return Fail(DiagnosticCode::kLimit, "a name of " + std::to_string(in.size()) + " bytes");
    }
    *out = in;
    return std::nullopt;
  }
  Error ReadStrings(const Strings& in, std::vector<std::string>* out) const {
    for (const std::string& text : in) {
      if (Error e = ReadString(text, &out->emplace_back())) return e;
    }
    return std::nullopt;
  }
  static Error ReadSpans(const google::protobuf::RepeatedPtrField<pb::Span>& in, int files,
                         std::vector<Span>* out) {
    for (const pb::Span& span : in) {
      if (span.line() != 0 && span.file() >= static_cast<uint32_t>(files)) {
        return Fail(DiagnosticCode::kBadReference, "no file " + std::to_string(span.file()) +
                                                       ", there are " + std::to_string(files));
      }
      out->push_back({span.file(), span.line(), span.column(), span.end_line(), span.end_column()});
    }
    return std::nullopt;
  }

  const SourceMapLimits& limits_;
};

Error Decode(std::string_view bytes, const SourceMapLimits& limits, SourceMap* map) {
  const wire::WireLimits scan{.bytes = limits.bytes, .objects = limits.objects};
  if (Error e = wire::ScanWire(bytes, pb::SourceMap::descriptor(), scan)) return e;
  pb::SourceMap message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Fail(DiagnosticCode::kMalformedModule, "broken encoding of a message SourceMap");
  }
  if (Error e = wire::FindUnknown(message)) return e;
  return Reader(limits).Read(message, map);
}

}  // namespace

DecodedSourceMap DecodeSourceMap(std::string_view bytes, const SourceMapLimits& limits) {
  DecodedSourceMap result;
  SourceMap map;
  if (Error error = Decode(bytes, limits, &map)) {
    result.diagnostics.push_back(std::move(*error));
  } else {
    result.map = std::move(map);
  }
  return result;
}

std::string EncodeSourceMap(const SourceMap& map) {
  pb::SourceMap out;
  out.set_format(1);
  WriteStrings(map.files, out.mutable_files());
  for (const Span& span : map.spans) WriteSpan(span, out.add_spans());
  out.set_kernel_name(ValidUtf8(map.kernel_name));
  WriteStrings(map.parameter_names, out.mutable_parameter_names());
  for (const Span& span : map.parameter_spans) WriteSpan(span, out.add_parameter_spans());
  WriteStrings(map.symbol_names, out.mutable_symbol_names());
  WriteStrings(map.constexpr_names, out.mutable_constexpr_names());
  for (size_t i = 0; i < map.enum_names.size(); ++i) {
    pb::EnumNames* names = out.add_enums();
    names->set_name(ValidUtf8(map.enum_names[i]));
    if (i < map.enum_member_names.size()) {
      WriteStrings(map.enum_member_names[i], names->mutable_members());
    }
  }
  return wire::DeterministicBytes(out);
}

}  // namespace intent
