# Man pages: docs/man/*.scd by scdoc. The first line of a page, "name(section)", names its output.
# A page for several commands names them below its NAME ("a, b - what they do"); the others get a link to it.
# Without scdoc everything else still builds and installs.

find_program(SCDOC scdoc)
cot_glob(pages docs/man/*.scd)
if(pages AND NOT SCDOC)
	message(STATUS "scdoc not found: no man pages")
	set(pages "")
endif()
set(outputs "")
file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/man")
foreach(page IN LISTS pages)
	file(STRINGS "${page}" title LIMIT_COUNT 1)
	if(NOT title MATCHES "^([A-Za-z0-9_.-]+)\\(([1-8])\\)")
		message(FATAL_ERROR "${page}:1: expected name(section) as the first line")
	endif()
	set(name ${CMAKE_MATCH_1})
	set(section ${CMAKE_MATCH_2})
	set(output "${CMAKE_BINARY_DIR}/man/${name}.${section}.gz")
	file(STRINGS "${page}" names REGEX "^[A-Za-z0-9_., -]+ - " LIMIT_COUNT 1)
	string(REGEX REPLACE " - .*" "" names "${names}")
	string(REPLACE ", " ";" names "${names}")
	list(REMOVE_ITEM names ${name})
	foreach(other IN LISTS names)
		set(reference "${CMAKE_BINARY_DIR}/man/${other}.${section}.gz")
		file(CREATE_LINK "${name}.${section}.gz" "${reference}" SYMBOLIC)
		install(FILES "${reference}" DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
	endforeach()
	# SOURCE_DATE_EPOCH and -n keep the date of the build out of the page.
	add_custom_command(OUTPUT "${output}"
		COMMAND sh -c "SOURCE_DATE_EPOCH=0 \"$1\" <\"$2\" >\"$3.new\" && gzip -9n <\"$3.new\" >\"$3\""
			sh "${SCDOC}" "${page}" "${output}"
		DEPENDS "${page}" VERBATIM)
	list(APPEND outputs "${output}")
	install(FILES "${output}" DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
if(outputs)
	add_custom_target(man ALL DEPENDS ${outputs})
endif()
