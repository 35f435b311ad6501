# What is loaded into other programs is made of its own objects: position-independent, without
# sanitizers (see flags.cmake), and with nothing visible that is not meant to be.

# cot_preloaded(TARGET SOURCES pattern... [LINK library...]): of whole folders; what nothing needs is left out.
function(cot_preloaded target)
	cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
	cot_glob(sources ${arg_SOURCES})
	add_library(${target} SHARED ${sources})
	target_compile_definitions(${target} PRIVATE _GNU_SOURCE=)
	target_link_libraries(${target} PRIVATE cot_plain_flags ${arg_LINK})
	target_compile_options(${target} PRIVATE -ffunction-sections -fdata-sections)
	target_link_options(${target} PRIVATE -Wl,--gc-sections -Wl,-z,defs -Wl,-z,now -Wl,-z,relro)
	set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${COT_LIB_DIR}")
endfunction()

# lib/libcotenant.so. It is refused when it asks for more than it may.
cot_preloaded(cotenant_preload SOURCES src/guest/*.c src/guest/preload/*.c src/cuda/rm/*.c
	src/proto/*.c src/base/*.c)
set(check "${CMAKE_SOURCE_DIR}/scripts/check-preload-imports")
set_target_properties(cotenant_preload PROPERTIES OUTPUT_NAME cotenant LINK_DEPENDS "${check}")
add_custom_command(TARGET cotenant_preload POST_BUILD
	COMMAND "${check}" "$<TARGET_FILE:cotenant_preload>" VERBATIM)
install(TARGETS cotenant_preload LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/cotenant)
