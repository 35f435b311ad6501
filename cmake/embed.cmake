# Puts files into programs, so that they need no data folder when installed.

add_executable(cot_embed_gen "${CMAKE_CURRENT_LIST_DIR}/embed_gen.c")
target_link_libraries(cot_embed_gen PRIVATE cot_flags)

# cot_embed(TARGET [ROOT dir] [TABLE name] DIRECTORIES dir...): a library with a table as in
# src/base/embedded.h (cot_TABLE; embedded_files if not given), one entry per file anywhere under
# ROOT/dir (ROOT is data if not given), named by its path below ROOT.
function(cot_embed target)
	cmake_parse_arguments(arg "" "ROOT;TABLE" "DIRECTORIES" ${ARGN})
	if(NOT arg_ROOT)
		set(arg_ROOT data)
	endif()
	if(NOT arg_TABLE)
		set(arg_TABLE embedded_files)
	endif()
	set(root "${CMAKE_SOURCE_DIR}/${arg_ROOT}")
	list(TRANSFORM arg_DIRECTORIES PREPEND "${root}/" OUTPUT_VARIABLE patterns)
	list(TRANSFORM patterns APPEND "/*")
	file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE "${root}" ${patterns})
	list(SORT files)
	set(inputs ${files})
	list(TRANSFORM inputs PREPEND "${root}/")

	set(output "${CMAKE_CURRENT_BINARY_DIR}/${arg_TABLE}.c")
	# The list goes through a file: a removed data file then counts as a change.
	set(list "${CMAKE_CURRENT_BINARY_DIR}/${arg_TABLE}.list")
	string(REPLACE ";" "\n" lines "${files}")
	file(GENERATE OUTPUT "${list}" CONTENT "${lines}\n")
	add_custom_command(OUTPUT "${output}"
		COMMAND cot_embed_gen "${root}" "${list}" "${output}" "${arg_TABLE}"
		DEPENDS cot_embed_gen "${list}" ${inputs}
		COMMENT "Embedding files of ${arg_ROOT}" VERBATIM)
	add_library(${target} STATIC "${output}")
	target_link_libraries(${target} PRIVATE cot_flags)
endfunction()
