# Compiler flags of everything that we build, as two interface libraries:
#   cot_plain_flags  warnings and how to compile
#   cot_flags        these, and the sanitizers and the like that are asked for
# What is loaded into other people's processes takes the plain ones in every build: a runtime of a
# sanitizer has to be there before the program starts.

set(COT_SANITIZE "" CACHE STRING "Sanitizers to build with, such as address,undefined or thread")
option(COT_COVERAGE "Build for gcov" OFF)
option(COT_FUZZ "Build the fuzz targets for libFuzzer (clang only)" OFF)
option(COT_WERROR "Warnings are errors" ON)

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
	set(CMAKE_BUILD_TYPE Release)
endif()

add_library(cot_plain_flags INTERFACE)
target_include_directories(cot_plain_flags INTERFACE "${CMAKE_SOURCE_DIR}/src"
	"${CMAKE_SOURCE_DIR}/include")
target_compile_options(cot_plain_flags INTERFACE
	-Wall -Wextra -Wshadow -Wundef -Wmissing-prototypes -Wstrict-prototypes
	-Wold-style-definition -Wpointer-arith -Wvla -Wformat=2 -Wimplicit-fallthrough
	-Wwrite-strings -fno-common
	# gcc guesses what may be cut; where cutting matters, the result of snprintf is checked.
	$<$<C_COMPILER_ID:GNU>:-Wno-format-truncation>
	# Fused multiply-adds round once where two operations round twice: they would make the
	# output depend on the compiler and on -O.
	-ffp-contract=off
	# Builds in different folders give the same bytes.
	"-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=")
if(COT_WERROR)
	target_compile_options(cot_plain_flags INTERFACE -Werror)
endif()
add_library(cot_flags INTERFACE)
target_link_libraries(cot_flags INTERFACE cot_plain_flags)

if(COT_SANITIZE)
	set(COT_SANITIZE_FLAGS "-fsanitize=${COT_SANITIZE}" -fno-sanitize-recover=all
		-fno-omit-frame-pointer)
	target_compile_options(cot_flags INTERFACE ${COT_SANITIZE_FLAGS}
		# Its thread sanitizer does not know fences. Where we have one, atomics stand beside it.
		$<$<C_COMPILER_ID:GNU>:-Wno-tsan>)
	target_link_options(cot_flags INTERFACE ${COT_SANITIZE_FLAGS})
endif()
if(COT_FUZZ)
	target_compile_options(cot_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(COT_COVERAGE)
	target_compile_options(cot_flags INTERFACE --coverage)
	target_link_options(cot_flags INTERFACE --coverage)
endif()
