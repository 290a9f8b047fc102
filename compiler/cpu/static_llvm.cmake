# Programs link LLVM as one shared library, which is quick. One that has the property
# INTENT_STATIC_LLVM takes in what it needs of it instead: what a bundle ships (deploy/bundle.sh). It
# links intent_absent_targets, too.
if(NOT EXISTS ${LLVM_LIBRARY_DIR}/libPolly.a)  # a part of LLVM, in a package of its own: install-deps.sh --bundle
  target_link_libraries(intent_llvm INTERFACE LLVM)
  return()
endif()

llvm_map_components_to_libnames(static_llvm
  X86CodeGen X86AsmParser AArch64CodeGen AArch64AsmParser Passes
  LTO Option DebugInfoDWARF DebugInfoPDB WindowsDriver)  # lld's
set(wanted "$<BOOL:$<TARGET_PROPERTY:INTENT_STATIC_LLVM>>")
target_link_libraries(intent_llvm INTERFACE "$<${wanted}:${static_llvm}>" "$<$<NOT:${wanted}>:LLVM>")

# lld initialises every target of its LLVM; those that we do not generate code for are not there.
set(stubs "")
foreach(target ${LLVM_TARGETS_TO_BUILD} ${LLVM_EXPERIMENTAL_TARGETS_TO_BUILD})
  if(NOT target MATCHES "^(X86|AArch64)$")
    foreach(part TargetInfo Target TargetMC AsmPrinter AsmParser)
      string(APPEND stubs "extern \"C\" void LLVMInitialize${target}${part}() {}\n")
    endforeach()
  endif()
endforeach()
file(CONFIGURE OUTPUT absent_targets.cc CONTENT "${stubs}")
add_library(intent_absent_targets OBJECT EXCLUDE_FROM_ALL ${CMAKE_CURRENT_BINARY_DIR}/absent_targets.cc)
