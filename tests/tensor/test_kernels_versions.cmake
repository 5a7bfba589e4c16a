# With sanitizers there is the baseline alone (tensor/cpu/simd.h): nothing to compare, the kernels only run.
if(WAKER_SANITIZE)
  return()
endif()
# The same program once more, with the kernels compiled for the baseline instruction set only.
file(GLOB kernel_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/tensor/cpu/*.c)
add_executable(${target}_plain ${source} ${kernel_sources})
target_include_directories(${target}_plain PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR}
                           ${OPENBLAS_INCLUDE})
target_compile_definitions(${target}_plain PRIVATE WK_NO_MULTI)
target_link_libraries(${target}_plain PRIVATE libwaker ${CMOCKA_LIBRARY})
set_target_properties(${target}_plain PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_dependencies(${target} ${target}_plain)
target_compile_definitions(${target} PRIVATE
                           PLAIN_PROGRAM="${CMAKE_BINARY_DIR}/tests/${target}_plain")
