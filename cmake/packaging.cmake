# What is installed beside programs, libraries and man pages.

install(FILES packaging/completion/cotenant.bash
	DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME cotenant)
# Manual pages call them docs/NAME.md.
cot_glob(documents docs/*.md)
install(FILES ${documents} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
install(FILES packaging/cotenantd.conf DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)

# NAME.service goes to systemd's system units, NAME.user.service to NAME.service of the users' ones.
# In the files stands /usr/bin; the folder of the programs is known when they are installed.
cot_glob(services packaging/systemd/*.service)
foreach(service IN LISTS services)
	get_filename_component(file "${service}" NAME)
	set(folder system)
	if(file MATCHES "\\.user\\.service$")
		set(folder user)
		string(REPLACE ".user." "." file "${file}")
	endif()
	install(CODE "
		file(READ \"${service}\" text)
		string(REPLACE \"=/usr/bin/\"
			\"=\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/\" text \"\${text}\")
		set(file \"${CMAKE_BINARY_DIR}/systemd/${folder}/${file}\")
		file(WRITE \"\${file}\" \"\${text}\")
		file(INSTALL \"\${file}\"
			DESTINATION \"\${CMAKE_INSTALL_PREFIX}/lib/systemd/${folder}\")")
endforeach()
