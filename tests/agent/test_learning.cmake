target_sources(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/agent/toy_training.c)
set_tests_properties(${name} PROPERTIES LABELS learning TIMEOUT 900 COST 100)
