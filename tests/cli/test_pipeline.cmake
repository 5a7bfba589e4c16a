if(WAKER_HAVE_CUDA)
  foreach(device cuda cuda-bf16)
    add_test(NAME ${device}/${name} COMMAND ${target} WORKING_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    set_tests_properties(${device}/${name} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS gpu
                         ENVIRONMENT WAKER_TEST_DEVICE=${device})
  endforeach()
endif()
