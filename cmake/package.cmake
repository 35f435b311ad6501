# `cpack` (./dev package): Debian packages, or with COT_STATIC_DEPS a tarball for every x86-64 Linux with a C library
# that is not older. Components are packages: cotenant, cotenant-dev, cotenant-emu.

set(COT_DEB_VERSION "${PROJECT_VERSION}-1")
set(CPACK_PACKAGE_NAME cotenant)
set(CPACK_PACKAGE_VENDOR cotenant)
set(CPACK_PACKAGE_CONTACT "The authors of cotenant <maintainers@users.noreply.a-seed-87b1e431.example>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE "${CMAKE_SOURCE_DIR}/LICENSE")
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL cotenant dev emu)
if(COT_STATIC_DEPS)
	set(CPACK_GENERATOR TGZ)
	set(CPACK_PACKAGE_FILE_NAME "cotenant-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR}")
	include(CPack)
	return()
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
# CPack makes folders as the umask says otherwise.
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
	OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

# cot_deb(COMPONENT PACKAGE SECTION DESCRIPTION): of every package, with what Debian wants in its folder.
configure_file(packaging/deb/changelog.in deb/changelog @ONLY)
execute_process(COMMAND gzip -9nkf "${CMAKE_BINARY_DIR}/deb/changelog")
function(cot_deb component package section description)
	string(TOUPPER "${component}" key)
	set(CPACK_DEBIAN_${key}_PACKAGE_NAME "${package}" PARENT_SCOPE)
	set(CPACK_DEBIAN_${key}_PACKAGE_SECTION "${section}" PARENT_SCOPE)
	set(CPACK_DEBIAN_${key}_DESCRIPTION "${description}" PARENT_SCOPE)
	install(FILES packaging/deb/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
	install(FILES "${CMAKE_BINARY_DIR}/deb/changelog.gz" RENAME changelog.Debian.gz
		DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
endfunction()

cot_deb(cotenant cotenant utils
"Programs that must answer quickly keep their latency beside programs that
want all the rest of a GPU, without a change to either and with the driver as
it is. The simulator says beforehand what a mix would do.")
cot_deb(dev cotenant-dev devel
"Headers and examples: marks of requests, kernels that share by themselves,
policies.")
cot_deb(emu cotenant-emu utils
"A driver library that runs CUDA programs with PTX on the CPU, for machines
without a GPU: cotenant run --emulate.")

set(CPACK_DEBIAN_COTENANT_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COTENANT_PACKAGE_SUGGESTS "cotenant-emu, nvidia-cuda-mps")
set(CPACK_DEBIAN_COTENANT_PACKAGE_CONTROL_EXTRA "${CMAKE_SOURCE_DIR}/packaging/deb/postinst;\
${CMAKE_SOURCE_DIR}/packaging/deb/prerm;${CMAKE_SOURCE_DIR}/packaging/deb/postrm")
set(CPACK_DEBIAN_DEV_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_EMU_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_EMU_PACKAGE_DEPENDS "cotenant (= ${COT_DEB_VERSION})")
include(CPack)
