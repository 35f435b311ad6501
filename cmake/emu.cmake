# The emulated GPU (docs/emulated-gpu.md), in lib/emu: libcuda.so.1 and nvidia-cuda-mps-control.
# `cotenant run --emulate` looks for it in the folder emu beside libcotenant.so, in the build and where it
# is installed.
#
# cot_emu is the same for unit tests and tools: without the definitions of open and ioctl, which
# only the shared library may have.

set(COT_EMU_DIR "${COT_LIB_DIR}/emu")
set(emu_patterns src/emu/gpu/*.c src/emu/rm/*.c src/emu/mps/*.c src/emu/driver/*.c src/emu/driver/api/*.c)
# What it needs of the other libraries: into a shared library go objects of its own.
set(emu_below src/emu/exec/*.c src/cuda/fatbin/*.c src/ptx/*.c src/base/*.c)

cot_unit(emu GNU SOURCES ${emu_patterns} EXCEPT src/emu/driver/interpose.c
	LINK cot_exec Threads::Threads ${CMAKE_DL_LIBS})

set(packing PkgConfig::LZ4 PkgConfig::ZSTD)
if(COT_STATIC_DEPS)
	set(packing "${COT_SHIM_LZ4}" "${COT_SHIM_ZSTD}" -Wl,--exclude-libs,ALL)
endif()
cot_preloaded(cot_emu_cuda SOURCES ${emu_patterns} ${emu_below}
	LINK ${packing} m Threads::Threads ${CMAKE_DL_LIBS})
# As with the real driver, what stands before it is not called by the driver itself.
set(interposed "${CMAKE_SOURCE_DIR}/src/emu/driver/interposed.list")
target_link_options(cot_emu_cuda PRIVATE "-Wl,--dynamic-list=${interposed}")
set_target_properties(cot_emu_cuda PROPERTIES OUTPUT_NAME cuda SOVERSION 1
	LIBRARY_OUTPUT_DIRECTORY "${COT_EMU_DIR}" LINK_DEPENDS "${interposed}")

# lib/cpu/libinterpreter.so: the interpreter as a provider of CPU versions of kernels (docs/cpu.md).
cot_preloaded(cot_cpu_interpreter SOURCES src/emu/cpu/*.c src/emu/exec/*.c src/ptx/*.c src/ptx/pass/*.c src/base/*.c
	LINK m Threads::Threads)
target_link_options(cot_cpu_interpreter PRIVATE -Wl,-Bsymbolic)
set_target_properties(cot_cpu_interpreter PROPERTIES OUTPUT_NAME interpreter
	LIBRARY_OUTPUT_DIRECTORY "${COT_LIB_DIR}/cpu")
install(TARGETS cot_cpu_interpreter LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/cotenant/cpu)

# Its counter of energy.
cot_preloaded(cot_emu_nvml SOURCES src/emu/nvml/*.c src/emu/gpu/*.c src/base/*.c LINK Threads::Threads)
set_target_properties(cot_emu_nvml PROPERTIES OUTPUT_NAME nvidia-ml SOVERSION 1
	LIBRARY_OUTPUT_DIRECTORY "${COT_EMU_DIR}")
install(TARGETS cot_emu_nvml LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/cotenant/emu COMPONENT emu)

cot_glob(sources src/emu/mps/*.c src/emu/mps/server/*.c)
add_executable(cot_emu_mps ${sources})
target_compile_definitions(cot_emu_mps PRIVATE _GNU_SOURCE=)
target_link_libraries(cot_emu_mps PRIVATE cot_plain_flags cot_emu_cuda Threads::Threads)
set_target_properties(cot_emu_mps PROPERTIES OUTPUT_NAME nvidia-cuda-mps-control
	RUNTIME_OUTPUT_DIRECTORY "${COT_EMU_DIR}" BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
install(TARGETS cot_emu_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/cotenant/emu COMPONENT emu)
install(TARGETS cot_emu_mps RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/cotenant/emu COMPONENT emu)
