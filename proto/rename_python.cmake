# Moves generated Python modules from the package `intent` to the package `intent_proto`.
# MODULES: files below FROM; TO: the folder of the new package.
foreach(module ${MODULES})
  file(READ ${FROM}/${module} text)
  string(REPLACE "from intent." "from intent_proto." text "${text}")
  string(REPLACE "import intent." "import intent_proto." text "${text}")
  file(WRITE ${TO}/${module} "${text}")
endforeach()
