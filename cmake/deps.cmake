# Libraries of others, as interface libraries dep_NAME. With COT_STATIC_DEPS their archives go into
# our programs, which then need nothing but the C library: such programs can be carried to another
# machine.

option(COT_STATIC_DEPS "Link jansson and libyaml statically" OFF)

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

# cot_dependency(NAME MODULE ARCHIVE)
function(cot_dependency name module archive)
	string(TOUPPER "${name}" prefix)
	pkg_check_modules(${prefix} REQUIRED IMPORTED_TARGET "${module}")
	add_library(dep_${name} INTERFACE)
	if(COT_STATIC_DEPS)
		find_library(COT_ARCHIVE_${prefix} NAMES "${archive}"
			HINTS ${${prefix}_LIBRARY_DIRS} ${${prefix}_LIBDIR} REQUIRED)
		mark_as_advanced(COT_ARCHIVE_${prefix})
		target_include_directories(dep_${name} INTERFACE ${${prefix}_INCLUDE_DIRS})
		target_link_libraries(dep_${name} INTERFACE "${COT_ARCHIVE_${prefix}}")
	else()
		target_link_libraries(dep_${name} INTERFACE PkgConfig::${prefix})
	endif()
endfunction()

cot_dependency(yaml yaml-0.1 libyaml.a)
cot_dependency(jansson jansson libjansson.a)
cot_dependency(lz4 liblz4 liblz4.a)
cot_dependency(zstd libzstd libzstd.a)
cot_dependency(zlib zlib libz.a)
cot_dependency(ncursesw ncursesw libncursesw.a)
cot_dependency(tinfo tinfo libtinfo.a)
# Its archive would need those of GnuTLS, which are not all there: such programs serve no /metrics.
if(NOT COT_STATIC_DEPS)
	cot_dependency(microhttpd libmicrohttpd libmicrohttpd.a)
endif()
