# What is installed beside programs, libraries and man pages: docs, examples, completion, units, and for authors of
# programs (component dev) headers and examples in C.

# Debian's zsh looks in vendor-completions for those of packages.
set(COT_ZSH_DIR "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" CACHE STRING "Folder of the completion for zsh")
install(FILES packaging/completion/cotenant.bash
	DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME cotenant)
install(FILES packaging/completion/_cotenant DESTINATION ${COT_ZSH_DIR})
install(FILES packaging/completion/cotenant.fish
	DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

# Manual pages call them docs/NAME.md.
cot_glob(documents docs/*.md docs/*.svg)
install(FILES ${documents} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
cot_glob(documents docs/how-to/*.md)
install(FILES ${documents} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs/how-to)
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY scenarios DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES packaging/cotenantd.conf packaging/grafana/cotenant.json packaging/prometheus/cotenant.rules.yml
	DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
install(DIRECTORY examples/pytorch examples/jax examples/requests DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples
	USE_SOURCE_PERMISSIONS PATTERN __pycache__ EXCLUDE)

# Every Python can have it in PYTHONPATH, also those that do not look into Debian's folders.
install(FILES python/cotenant.py DESTINATION ${CMAKE_INSTALL_DATADIR}/cotenant/python)

configure_file(packaging/cotenant.pc.in cotenant.pc @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/cotenant.pc" DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig COMPONENT dev)
install(DIRECTORY include/cotenant DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
install(DIRECTORY examples/share examples/workers DESTINATION ${CMAKE_INSTALL_DOCDIR}-dev/examples COMPONENT dev)

# NAME.service and NAME.socket go to systemd's system units, NAME.user.service and .socket to those of the users.
# In the files stands /usr/bin; the folder of the programs is known when they are installed. Where a tarball
# will be unpacked is not; its units name /usr/local.
cot_glob(services packaging/systemd/*.service packaging/systemd/*.socket)
foreach(service IN LISTS services)
	get_filename_component(file "${service}" NAME)
	set(folder system)
	if(file MATCHES "\\.user\\.")
		set(folder user)
		string(REPLACE ".user." "." file "${file}")
	endif()
	install(CODE "
		set(prefix \"\${CMAKE_INSTALL_PREFIX}\")
		if(prefix MATCHES \"/_CPack_Packages/\")
			set(prefix /usr/local)
		endif()
		file(READ \"${service}\" text)
		string(REPLACE \"=/usr/bin/\" \"=\${prefix}/${CMAKE_INSTALL_BINDIR}/\" text \"\${text}\")
		set(file \"${CMAKE_BINARY_DIR}/systemd/${folder}/${file}\")
		file(WRITE \"\${file}\" \"\${text}\")
		file(INSTALL \"\${file}\"
			DESTINATION \"\${CMAKE_INSTALL_PREFIX}/lib/systemd/${folder}\")")
endforeach()
