# bench/consolidate/probe: whether a second process could launch kernels for a program. Needs nothing of ours.
file(GLOB sources CONFIGURE_DEPENDS bench/consolidate/probe/*.c)
add_executable(probe-backend ${sources})
target_compile_definitions(probe-backend PRIVATE _GNU_SOURCE=)
target_link_libraries(probe-backend PRIVATE cot_flags ${CMAKE_DL_LIBS})
set_target_properties(probe-backend PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${COT_BIN_DIR}")
