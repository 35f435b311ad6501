# One static library per folder of src/, and one program per file of bench/.

# Paths that match the patterns, relative to the source folder, sorted.
function(cot_glob ret)
	set(patterns ${ARGN})
	list(TRANSFORM patterns PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
	file(GLOB files CONFIGURE_DEPENDS ${patterns})
	list(SORT files)
	set(${ret} ${files} PARENT_SCOPE)
endfunction()

# cot_unit(NAME [GNU] SOURCES pattern... [EXCEPT file...] [LINK library...])
# makes cot_NAME. GNU lets the unit use what glibc has beyond POSIX (argp, asprintf).
# Libraries of ours that do not exist are left out, and so is a unit without sources.
function(cot_unit name)
	cmake_parse_arguments(arg "GNU" "" "SOURCES;EXCEPT;LINK" ${ARGN})
	cot_glob(sources ${arg_SOURCES})
	list(TRANSFORM arg_EXCEPT PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
	if(arg_EXCEPT)
		list(REMOVE_ITEM sources ${arg_EXCEPT})
	endif()
	if(NOT sources)
		return()
	endif()
	add_library(cot_${name} STATIC ${sources})
	target_include_directories(cot_${name} PUBLIC "${CMAKE_SOURCE_DIR}/src"
		"${CMAKE_SOURCE_DIR}/include")
	target_link_libraries(cot_${name} PRIVATE cot_flags)
	if(arg_GNU)
		target_compile_definitions(cot_${name} PRIVATE _GNU_SOURCE=)
	else()
		target_compile_definitions(cot_${name} PRIVATE _POSIX_C_SOURCE=200809L)
	endif()
	foreach(library IN LISTS arg_LINK)
		if(NOT library MATCHES "^cot_" OR TARGET ${library})
			target_link_libraries(cot_${name} PUBLIC ${library})
		endif()
	endforeach()
endfunction()

# The libraries that exist, highest layer first.
function(cot_all_units ret)
	set(units "")
	foreach(name cli study report daemon sim sched policy model proto cuda launch kernels emu exec
			fatbin ptx trace text base)
		if(TARGET cot_${name})
			list(APPEND units cot_${name})
		endif()
	endforeach()
	set(${ret} ${units} PARENT_SCOPE)
endfunction()

# bench/NAME.c becomes bin/bench_NAME.
function(cot_benches)
	cot_glob(sources ${ARGN})
	cot_all_units(units)
	foreach(source IN LISTS sources)
		get_filename_component(name "${source}" NAME_WE)
		string(REGEX REPLACE "^bench_" "" name "${name}")
		add_executable(bench_${name} "${source}")
		target_link_libraries(bench_${name} PRIVATE cot_flags ${units})
		target_compile_definitions(bench_${name} PRIVATE _GNU_SOURCE=)
		set_target_properties(bench_${name} PROPERTIES
			RUNTIME_OUTPUT_DIRECTORY "${COT_BIN_DIR}")
	endforeach()
endfunction()
