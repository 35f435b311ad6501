# bench/contention: kernels of known work on parts of a GPU. Its PTX is a checked-in product of
# bench/contention/build-ptx. cot_contention is all of it but the program, for tests.

cot_embed(cot_contention_ptx ROOT bench/contention TABLE contention_ptx DIRECTORIES ptx)
cot_unit(contention GNU SOURCES bench/contention/*.c EXCEPT bench/contention/main.c
	LINK cot_launch)
target_compile_definitions(cot_contention PRIVATE "COT_VERSION=\"${PROJECT_VERSION}\"")
add_executable(bench_contention bench/contention/main.c)
target_link_libraries(bench_contention PRIVATE cot_contention cot_contention_ptx cot_flags)
target_compile_definitions(bench_contention PRIVATE _GNU_SOURCE=)
set_target_properties(bench_contention PROPERTIES
	RUNTIME_OUTPUT_DIRECTORY "${COT_BIN_DIR}")
