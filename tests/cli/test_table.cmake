target_sources(${target} PRIVATE ${CMAKE_SOURCE_DIR}/src/cli/table.c)
