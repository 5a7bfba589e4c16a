target_sources(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/report/sample.c)
