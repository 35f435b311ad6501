# bench/contention: kernels of known work on parts of a GPU. Its PTX is a checked-in product of
# bench/contention/build-ptx.

if(TARGET cot_launch)
	cot_embed(cot_contention_ptx ROOT bench/contention TABLE contention_ptx DIRECTORIES ptx)
	cot_glob(sources bench/contention/*.c kernels/run/cuda.c kernels/run/cuda_machine.c)
	add_executable(bench_contention ${sources})
	target_link_libraries(bench_contention PRIVATE cot_launch cot_kernels cot_contention_ptx
		cot_base cot_flags ${CMAKE_DL_LIBS} m)
	target_compile_definitions(bench_contention PRIVATE _GNU_SOURCE=
		"COT_VERSION=\"${PROJECT_VERSION}\"")
	set_target_properties(bench_contention PROPERTIES
		RUNTIME_OUTPUT_DIRECTORY "${COT_BIN_DIR}")
endif()
