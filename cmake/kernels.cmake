# The benchmarks in kernels/: cot_kernels is their host half with the PTX in it, and kernels-run
# runs them. The PTX is a checked-in product of kernels/build-ptx, so clang is not needed here.

cot_embed(cot_kernel_ptx ROOT kernels TABLE kernel_ptx DIRECTORIES ptx)
cot_unit(kernels GNU SOURCES kernels/host/*.c LINK cot_kernel_ptx cot_base m Threads::Threads)
target_include_directories(cot_kernels PUBLIC "${CMAKE_SOURCE_DIR}")

# Launching by means of the passes, on any machine (kernels/launch/machine.h); tests and bench use it as well.
cot_unit(launch GNU SOURCES kernels/launch/*.c LINK cot_kernels cot_ptx cot_cuda)
cot_unit(kernels_run GNU SOURCES kernels/run/*.c EXCEPT kernels/run/main.c LINK cot_launch)
target_compile_definitions(cot_kernels_run PRIVATE "COT_VERSION=\"${PROJECT_VERSION}\"")
cot_program(kernels-run kernels/run/main.c cot_kernels_run)

# lib/cpu/libkernels.so: CPU versions of some of them (docs/cpu.md).
cot_preloaded(cot_cpu_kernels SOURCES kernels/cpu/*.c LINK m)
target_include_directories(cot_cpu_kernels PRIVATE "${CMAKE_SOURCE_DIR}")
set_target_properties(cot_cpu_kernels PROPERTIES OUTPUT_NAME kernels LIBRARY_OUTPUT_DIRECTORY "${COT_LIB_DIR}/cpu")
install(TARGETS cot_cpu_kernels LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/cotenant/cpu)

# The programs of bench/smguard: NAME.c there becomes smguard-NAME, beside the others. With smguard-app users try
# sharing before they have programs of their own, so it is installed.
function(cot_smguard_program name)
	add_executable(smguard-${name} bench/smguard/${name}.c bench/smguard/job.c bench/smguard/options.c)
	target_include_directories(smguard-${name} PRIVATE "${CMAKE_SOURCE_DIR}")
	target_compile_definitions(smguard-${name} PRIVATE _GNU_SOURCE=)
	target_link_libraries(smguard-${name} PRIVATE cot_flags cot_launch)
	set_target_properties(smguard-${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${COT_BIN_DIR}")
endfunction()
cot_smguard_program(app)
install(TARGETS smguard-app RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(COT_BENCH)
	cot_smguard_program(remap)
endif()
