target_sources(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/report/browser.c)
set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
