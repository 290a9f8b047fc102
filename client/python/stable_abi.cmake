# The extension module for every Python from 3.12 on (the stable ABI), which a bundle ships beside the
# one for the Python at hand: build/bundle/python/intent/_core.abi3.so. nanobind's own function makes
# such a module only by a Python of that version; the headers of one suffice here.
# deploy/install-deps.sh --bundle puts them where this looks.

file(GLOB headers ${CMAKE_SOURCE_DIR}/build/python-headers/usr/include/python3.*)
if(NOT headers)
  return()  # deploy/bundle.sh says what is missing
endif()
list(GET headers -1 python_headers)

add_library(intent_python_core_abi3 MODULE EXCLUDE_FROM_ALL ${core_sources} ${NB_DIR}/src/nb_combined.cpp)
set_source_files_properties(${NB_DIR}/src/nb_combined.cpp PROPERTIES
  COMPILE_OPTIONS -fno-strict-aliasing COMPILE_DEFINITIONS "NB_BUILD;NB_COMPACT_ASSERTIONS")
target_compile_definitions(intent_python_core_abi3 PRIVATE Py_LIMITED_API=0x030C0000)
target_include_directories(intent_python_core_abi3 SYSTEM PRIVATE
  ${python_headers} ${python_headers}/.. ${NB_DIR}/include ${NB_DIR}/ext/robin_map/include)
target_compile_options(intent_python_core_abi3 PRIVATE -Os -fno-stack-protector -ffunction-sections -fdata-sections)
target_link_options(intent_python_core_abi3 PRIVATE -Wl,--gc-sections -Wl,-s)
target_link_libraries(intent_python_core_abi3 PRIVATE ${core_libraries})
set_target_properties(intent_python_core_abi3 PROPERTIES
  OUTPUT_NAME _core PREFIX "" SUFFIX .abi3.so CXX_VISIBILITY_PRESET hidden
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bundle/python/intent)
