# lib/shim/libcuda.so.1: the shim, which `cotenant run --quota` puts before the driver's library
# (docs/shim.md). Compression is linked statically, and none of its names can be seen.

set(COT_SHIM_DIR "${COT_LIB_DIR}/shim")
find_library(COT_SHIM_LZ4 NAMES liblz4.a HINTS ${LZ4_LIBRARY_DIRS} ${LZ4_LIBDIR} REQUIRED)
find_library(COT_SHIM_ZSTD NAMES libzstd.a HINTS ${ZSTD_LIBRARY_DIRS} ${ZSTD_LIBDIR} REQUIRED)
mark_as_advanced(COT_SHIM_LZ4 COT_SHIM_ZSTD)

# cot_shim(TARGET DIRECTORY library...): what it needs of the other libraries too, since into a shared library go
# objects of its own.
function(cot_shim target directory)
	cot_preloaded(${target} SOURCES src/guest/*.c src/guest/shim/*.c src/cuda/green.c src/cuda/driver_error.c
			src/cuda/fatbin/*.c src/ptx/*.c src/ptx/pass/*.c src/model/merge.c src/backend/*.c src/proto/*.c src/base/*.c
		LINK "${COT_SHIM_LZ4}" "${COT_SHIM_ZSTD}" ${ARGN})
	set_target_properties(${target} PROPERTIES OUTPUT_NAME cuda SOVERSION 1
		LIBRARY_OUTPUT_DIRECTORY "${directory}" LINK_DEPENDS "${check}")
	# Its own names mean its own functions, whatever else is loaded.
	target_link_options(${target} PRIVATE -Wl,--exclude-libs,ALL -Wl,-Bsymbolic)
endfunction()

cot_shim(cot_shim_cuda "${COT_SHIM_DIR}")
# The same with sanitizers, for programs that have them too.
if(COT_SANITIZE AND COT_TESTS)
	cot_shim(cot_shim_sanitized "${CMAKE_BINARY_DIR}/sanitized/shim" cot_flags)
endif()
add_custom_command(TARGET cot_shim_cuda POST_BUILD
	COMMAND "${check}" "$<TARGET_FILE:cot_shim_cuda>" cu VERBATIM)
install(TARGETS cot_shim_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/cotenant/shim)

# bench_shim: the shim before a driver that does nothing.
if(COT_BENCH)
	add_library(cot_stub_driver MODULE bench/shim/driver.c)
	target_link_libraries(cot_stub_driver PRIVATE cot_plain_flags)
	set_target_properties(cot_stub_driver PROPERTIES
		LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bench")
endif()
