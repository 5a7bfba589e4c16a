file(GLOB parity_sources ${CMAKE_SOURCE_DIR}/bench/parity_*.c)
target_sources(${target} PRIVATE ${parity_sources})
target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/bench)
add_dependencies(${target} bench_parity waker)
