#include "compiler/cpu/loader.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/cpu/imports.h"

namespace intent::cpu {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
constexpr uint32_t kRelative = R_X86_64_RELATIVE, kAbsolute = R_X86_64_64;
constexpr uint32_t kGlobal = R_X86_64_GLOB_DAT, kJump = R_X86_64_JUMP_SLOT;
#else
constexpr Elf64_Half kMachine = EM_AARCH64;
constexpr uint32_t kRelative = R_AARCH64_RELATIVE, kAbsolute = R_AARCH64_ABS64;
constexpr uint32_t kGlobal = R_AARCH64_GLOB_DAT, kJump = R_AARCH64_JUMP_SLOT;
#endif

constexpr uint64_t kMaxImage = uint64_t{1} << 30;

absl::Status Invalid(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("not a shared object for this host: ", what));
}

uint64_t PageBytes() {
  static const uint64_t bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}
uint64_t PageBegin(uint64_t address) { return address / PageBytes() * PageBytes(); }
uint64_t PageEnd(uint64_t address) { return PageBegin(address + PageBytes() - 1); }

// A copy of the T at an offset; nothing if it leaves the bytes.
template <typename T>
std::optional<T> Read(const char* bytes, uint64_t size, uint64_t offset) {
  if (offset > size || sizeof(T) > size - offset) return std::nullopt;
  T value;
  std::memcpy(&value, bytes + offset, sizeof(value));
  return value;
}

// What the file says of its memory image.
struct Layout {
  std::vector<Elf64_Phdr> segments;  // PT_LOAD, in order, each on pages of its own
  uint64_t dynamic = 0, dynamic_size = 0;
  uint64_t size = 0;  // of the image, whole pages
};

absl::StatusOr<Layout> ReadLayout(std::string_view object) {
  const auto header = Read<Elf64_Ehdr>(object.data(), object.size(), 0);
  if (!header.has_value() || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB) {
    return Invalid("no ELF file of 64 bits");
  }
  if (header->e_type != ET_DYN || header->e_machine != kMachine) {
    return Invalid("another kind of file, or another machine's");
  }
  if (header->e_phentsize != sizeof(Elf64_Phdr)) return Invalid("unknown program headers");
  Layout layout;
  uint64_t end = 0;
  for (int i = 0; i < header->e_phnum; ++i) {
    const auto segment =
        Read<Elf64_Phdr>(object.data(), object.size(), header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment.has_value()) return Invalid("program headers beyond its end");
    if (segment->p_type == PT_TLS || segment->p_type == PT_INTERP) {
      return Invalid("it wants thread-local storage or an interpreter");
    }
    if (segment->p_type == PT_DYNAMIC) {
      layout.dynamic = segment->p_vaddr;
      layout.dynamic_size = segment->p_memsz;
    }
    if (segment->p_type != PT_LOAD || segment->p_memsz == 0) continue;
    if (segment->p_memsz > kMaxImage || segment->p_vaddr > kMaxImage - segment->p_memsz ||
        segment->p_filesz > segment->p_memsz || segment->p_offset > object.size() ||
        segment->p_filesz > object.size() - segment->p_offset) {
      return Invalid("a segment leaves the file");
    }
    if (PageBegin(segment->p_vaddr) < end) return Invalid("segments share a page");
    if ((segment->p_flags & PF_W) != 0 && (segment->p_flags & PF_X) != 0) {
      return Invalid("code that can be written to");
    }
    end = PageEnd(segment->p_vaddr + segment->p_memsz);
    layout.segments.push_back(*segment);
  }
  if (layout.segments.empty() || layout.dynamic_size == 0) return Invalid("nothing to load");
  layout.size = end;
  return layout;
}

// The dynamic section: where symbols and relocations lie in the image.
struct Dynamic {
  uint64_t symbols = 0, strings = 0, string_bytes = 0, hash = 0;
  uint64_t relocations = 0, relocation_bytes = 0, jumps = 0, jump_bytes = 0;
};

absl::StatusOr<Dynamic> ReadDynamic(const char* image, const Layout& layout) {
  Dynamic dynamic;
  for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= layout.dynamic_size; at += sizeof(Elf64_Dyn)) {
    const auto entry = Read<Elf64_Dyn>(image, layout.size, layout.dynamic + at);
    if (!entry.has_value()) return Invalid("its dynamic section leaves the image");
    const uint64_t value = entry->d_un.d_val;
    switch (entry->d_tag) {
      case DT_NULL:
        return dynamic;
      case DT_SYMTAB:
        dynamic.symbols = value;
        break;
      case DT_STRTAB:
        dynamic.strings = value;
        break;
      case DT_STRSZ:
        dynamic.string_bytes = value;
        break;
      case DT_HASH:
        dynamic.hash = value;
        break;
      case DT_RELA:
        dynamic.relocations = value;
        break;
      case DT_RELASZ:
        dynamic.relocation_bytes = value;
        break;
      case DT_JMPREL:
        dynamic.jumps = value;
        break;
      case DT_PLTRELSZ:
        dynamic.jump_bytes = value;
        break;
      case DT_SYMENT:
      case DT_RELAENT:
      case DT_RELACOUNT:
      case DT_PLTREL:
      case DT_PLTGOT:
      case DT_FLAGS:
      case DT_FLAGS_1:
        break;
      default:
        return Invalid(
            absl::StrCat("it wants more than to be mapped (dynamic tag ", entry->d_tag, ")"));
    }
  }
  return Invalid("its dynamic section has no end");
}

// Symbols by number, of a mapped image.
class Symbols {
 public:
  Symbols(char* image, uint64_t size, const Dynamic& dynamic)
      : image_(image), size_(size), dynamic_(dynamic) {}

  std::optional<Elf64_Sym> At(uint64_t number) const {
    if (number >= Count()) return std::nullopt;
    return Read<Elf64_Sym>(image_, size_, dynamic_.symbols + number * sizeof(Elf64_Sym));
  }

  std::string_view NameOf(const Elf64_Sym& symbol) const {
    if (dynamic_.strings > size_ || dynamic_.string_bytes > size_ - dynamic_.strings ||
        symbol.st_name >= dynamic_.string_bytes) {
      return {};
    }
    const char* name = image_ + dynamic_.strings + symbol.st_name;
    return {name, strnlen(name, dynamic_.string_bytes - symbol.st_name)};
  }

  // What the image calls by the symbol's number.
  absl::StatusOr<uint64_t> Address(uint64_t number) const {
    const std::optional<Elf64_Sym> symbol = At(number);
    if (!symbol.has_value()) return Invalid("a relocation by a symbol that it lacks");
    if (symbol->st_shndx != SHN_UNDEF) return Own(*symbol);
    const std::string_view name = NameOf(*symbol);
    const std::vector<Import>& allowed = AllowedImports();
    const auto found = std::lower_bound(
        allowed.begin(), allowed.end(), name,
        [](const Import& import, std::string_view wanted) { return import.name < wanted; });
    if (found == allowed.end() || found->name != name) {
      return Invalid(absl::StrCat("it imports ", std::string(name)));
    }
    return reinterpret_cast<uint64_t>(found->address);
  }

  // A function of the image.
  absl::StatusOr<uint64_t> Find(std::string_view name) const {
    for (uint64_t number = 1; number < Count(); ++number) {
      const std::optional<Elf64_Sym> symbol = At(number);
      if (!symbol.has_value()) break;  // the table says that there are more than fit
      if (symbol->st_shndx != SHN_UNDEF && NameOf(*symbol) == name) {
        return Own(*symbol);
      }
    }
    return Invalid(absl::StrCat("it has no symbol ", std::string(name)));
  }

 private:
  // The second word of a DT_HASH table.
  uint64_t Count() const {
    return dynamic_.hash == 0
               ? 0
               : Read<uint32_t>(image_, size_, dynamic_.hash + sizeof(uint32_t)).value_or(0);
  }

  absl::StatusOr<uint64_t> Own(const Elf64_Sym& symbol) const {
    if (symbol.st_value >= size_) return Invalid("a symbol outside its image");
    return reinterpret_cast<uint64_t>(image_) + symbol.st_value;
  }

  char* const image_;
  const uint64_t size_;
  const Dynamic dynamic_;
};

absl::Status Relocate(char* image, const Layout& layout, const Symbols& symbols, uint64_t table,
                      uint64_t bytes) {
  for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= bytes; at += sizeof(Elf64_Rela)) {
    const auto relocation = Read<Elf64_Rela>(image, layout.size, table + at);
    if (!relocation.has_value()) return Invalid("relocations beyond its end");
    const uint64_t place = relocation->r_offset;
    const bool writable =
        std::any_of(layout.segments.begin(), layout.segments.end(), [&](const Elf64_Phdr& segment) {
          return (segment.p_flags & PF_W) != 0 && place >= segment.p_vaddr &&
                 place - segment.p_vaddr <= segment.p_memsz &&
                 segment.p_memsz - (place - segment.p_vaddr) >= sizeof(uint64_t);
        });
    if (!writable) return Invalid("a relocation outside its data");
    const uint64_t addend = static_cast<uint64_t>(relocation->r_addend);
    uint64_t value = reinterpret_cast<uint64_t>(image) + addend;
    const uint32_t type = ELF64_R_TYPE(relocation->r_info);
    if (type == kGlobal || type == kJump || type == kAbsolute) {
      absl::StatusOr<uint64_t> address = symbols.Address(ELF64_R_SYM(relocation->r_info));
      if (!address.ok()) return address.status();
      value = *address + addend;
    } else if (type != kRelative) {
      return Invalid(absl::StrCat("relocation of type ", type));
    }
    std::memcpy(image + place, &value, sizeof(value));
  }
  return absl::OkStatus();
}

}  // namespace

LoadedKernel::~LoadedKernel() {
  if (image_ != nullptr) munmap(image_, size_);
}

absl::StatusOr<std::unique_ptr<LoadedKernel>> LoadSharedObject(std::string_view object,
                                                               const std::string& entry_symbol) {
  const absl::StatusOr<Layout> layout = ReadLayout(object);
  if (!layout.ok()) return layout.status();
  void* const memory =
      mmap(nullptr, layout->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for code: ", std::strerror(errno)));
  }
  std::unique_ptr<LoadedKernel> kernel(new LoadedKernel);
  kernel->image_ = static_cast<char*>(memory);
  kernel->size_ = layout->size;
  char* const image = kernel->image_;
  for (const Elf64_Phdr& segment : layout->segments) {
    std::memcpy(image + segment.p_vaddr, object.data() + segment.p_offset, segment.p_filesz);
  }

  const absl::StatusOr<Dynamic> dynamic = ReadDynamic(image, *layout);
  if (!dynamic.ok()) return dynamic.status();
  const Symbols symbols(image, layout->size, *dynamic);
  absl::Status status =
      Relocate(image, *layout, symbols, dynamic->relocations, dynamic->relocation_bytes);
  if (!status.ok()) return status;
  status = Relocate(image, *layout, symbols, dynamic->jumps, dynamic->jump_bytes);
  if (!status.ok()) return status;
  const absl::StatusOr<uint64_t> entry = symbols.Find(entry_symbol);
  if (!entry.ok()) return entry.status();

  // From here on nothing of it changes. What lies between segments cannot be touched at all.
  if (mprotect(image, layout->size, PROT_NONE) != 0) {
    return absl::ResourceExhaustedError("the system refuses to protect code");
  }
  for (const Elf64_Phdr& segment : layout->segments) {
    const uint64_t begin = PageBegin(segment.p_vaddr);
    const uint64_t end = PageEnd(segment.p_vaddr + segment.p_memsz);
    const int rights = (segment.p_flags & PF_X) != 0 ? PROT_READ | PROT_EXEC : PROT_READ;
    if (mprotect(image + begin, end - begin, rights) != 0) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the system refuses to make code executable: ", std::strerror(errno)));
    }
    __builtin___clear_cache(image + begin, image + end);
  }
  kernel->entry_ = reinterpret_cast<intent_entry>(*entry);
  return kernel;
}

}  // namespace intent::cpu
