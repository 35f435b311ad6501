# bench/consolidate: time and energy of sets of kernels. probe: whether a second process could launch kernels for a
# program; it needs nothing of ours.
cot_unit(consolidate GNU SOURCES bench/consolidate/set*.c LINK cot_launch)
add_executable(bench_consolidate bench/consolidate/main.c)
target_compile_definitions(bench_consolidate PRIVATE _GNU_SOURCE=)
target_link_libraries(bench_consolidate PRIVATE cot_consolidate cot_contention cot_contention_ptx cot_flags Threads::Threads)

file(GLOB sources CONFIGURE_DEPENDS bench/consolidate/probe/*.c)
add_executable(probe-backend ${sources})
target_compile_definitions(probe-backend PRIVATE _GNU_SOURCE=)
target_link_libraries(probe-backend PRIVATE cot_flags ${CMAKE_DL_LIBS})
set_target_properties(probe-backend bench_consolidate PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${COT_BIN_DIR}")

# bench/backend: copies of a program, apart and with a backend.
add_executable(backend-copies bench/backend/copies.c)
target_compile_definitions(backend-copies PRIVATE _GNU_SOURCE=)
target_include_directories(backend-copies PRIVATE "${CMAKE_SOURCE_DIR}")
target_link_libraries(backend-copies PRIVATE cot_flags ${CMAKE_DL_LIBS})
set_target_properties(backend-copies PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${COT_BIN_DIR}")
