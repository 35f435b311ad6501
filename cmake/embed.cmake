# Puts files of data/ into the program, so that it needs no data folder when installed.

add_executable(cot_embed_gen "${CMAKE_CURRENT_LIST_DIR}/embed_gen.c")
target_link_libraries(cot_embed_gen PRIVATE cot_flags)

# cot_embed(TARGET DIRECTORIES dir...): a library with the tables of src/base/embedded.h, one
# entry per file anywhere under data/dir, named by its path below data/.
function(cot_embed target)
	cmake_parse_arguments(arg "" "" "DIRECTORIES" ${ARGN})
	set(root "${CMAKE_SOURCE_DIR}/data")
	list(TRANSFORM arg_DIRECTORIES PREPEND "${root}/" OUTPUT_VARIABLE patterns)
	list(TRANSFORM patterns APPEND "/*")
	file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE "${root}" ${patterns})
	list(SORT files)
	set(inputs ${files})
	list(TRANSFORM inputs PREPEND "${root}/")

	set(output "${CMAKE_CURRENT_BINARY_DIR}/embedded_data.c")
	# The list goes through a file: a removed data file then counts as a change.
	set(list "${CMAKE_CURRENT_BINARY_DIR}/embedded_data.list")
	string(REPLACE ";" "\n" lines "${files}")
	file(CONFIGURE OUTPUT "${list}" CONTENT "${lines}\n" @ONLY)
	add_custom_command(OUTPUT "${output}"
		COMMAND cot_embed_gen "${root}" "${list}" "${output}"
		DEPENDS cot_embed_gen "${list}" ${inputs}
		COMMENT "Embedding data files" VERBATIM)
	add_library(${target} STATIC "${output}")
	target_link_libraries(${target} PRIVATE cot_flags)
endfunction()
