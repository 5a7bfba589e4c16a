set_tests_properties(${name} PROPERTIES ENVIRONMENT
  "LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/support/osmesa.supp:print_suppressions=0")
