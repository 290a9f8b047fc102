# cmake -DOUTPUT=file.cc -DHEADERS=a;b -P embed_device_library.cmake
# Writes a C++ file with the texts of the headers and the digest of all of them.
list(SORT HEADERS COMPARE FILE_BASENAME)
set(entries "")
set(names "")
foreach(path ${HEADERS})
  get_filename_component(name ${path} NAME)
  file(READ ${path} text)
  string(FIND "${text}" ")device\"" clash)
  if(NOT clash EQUAL -1)
    message(FATAL_ERROR "${path} contains the end of its own literal")
  endif()
  file(SHA256 ${path} digest)
  string(APPEND names "${name} ${digest}\n")
  string(APPEND entries "    {\"intent/${name}\", R\"device(${text})device\"},\n")
endforeach()
string(SHA256 digest "${names}")
file(WRITE ${OUTPUT} "// Made from compiler/cuda/device by embed_device_library.cmake.

#include \"compiler/cuda/device_library.h\"

namespace intent::cuda {

std::span<const DeviceHeader> DeviceLibrary() {
  static constexpr DeviceHeader kHeaders[] = {
${entries}  };
  return kHeaders;
}

std::string_view DeviceLibraryDigest() {
  return \"${digest}\";
}

}  // namespace intent::cuda
")
