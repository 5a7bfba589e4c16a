# use_tls: the leak checker takes the thread-local blocks of libraries that OSMesa loads for others, and may crash in them.
set_tests_properties(${name} PROPERTIES ENVIRONMENT
  "LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/support/osmesa.supp:print_suppressions=0:use_tls=0")
