# The benchmarks in kernels/: cot_kernels is their host half with the PTX in it, and kernels-run
# runs them. The PTX is a checked-in product of kernels/build-ptx, so clang is not needed here.

cot_embed(cot_kernel_ptx ROOT kernels TABLE kernel_ptx DIRECTORIES ptx)
cot_unit(kernels GNU SOURCES kernels/host/*.c LINK cot_kernel_ptx cot_base m Threads::Threads)
target_include_directories(cot_kernels PUBLIC "${CMAKE_SOURCE_DIR}")

# Launching by means of the passes, on any machine (kernels/run/machine.h); tests use it as well.
cot_unit(launch GNU SOURCES kernels/run/session.c kernels/run/rewrite.c kernels/run/launch_*.c
	LINK cot_kernels cot_ptx)
# The machine that is a GPU.
cot_unit(gpu GNU SOURCES kernels/run/cuda.c kernels/run/cuda_machine.c LINK cot_launch cot_cuda)

if(TARGET cot_ptx)
	cot_glob(sources kernels/run/*.c)
	list(FILTER sources EXCLUDE REGEX "/(main|session|rewrite|launch_[a-z]*|cuda|cuda_machine)\\.c$")
	cot_program(kernels-run kernels/run/main.c cot_gpu cot_ptx m)
	target_sources(kernels-run PRIVATE ${sources} src/report/outfile.c)
endif()

# The programs of bench/smguard: NAME.c there becomes smguard-NAME, beside the others.
if(TARGET cot_launch AND COT_BENCH)
	foreach(name app remap)
		add_executable(smguard-${name} bench/smguard/${name}.c bench/smguard/job.c)
		target_include_directories(smguard-${name} PRIVATE "${CMAKE_SOURCE_DIR}")
		target_compile_definitions(smguard-${name} PRIVATE _GNU_SOURCE=)
		target_link_libraries(smguard-${name} PRIVATE cot_flags cot_gpu cot_ptx m)
		set_target_properties(smguard-${name} PROPERTIES
			RUNTIME_OUTPUT_DIRECTORY "${COT_BIN_DIR}")
	endforeach()
endif()
