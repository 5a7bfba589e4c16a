target_sources(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/agent/toy_training.c)
set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 LABELS gpu)
