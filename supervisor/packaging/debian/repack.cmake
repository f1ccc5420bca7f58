# Read by cpack behind the package, for what cpack cannot be told.
# - To a package with a library below lib/ it adds a postinst and a postrm that call ldconfig. ldconfig does not read lib/reprieve; and a
#   package with a postrm is still known to dpkg when it has been removed (state `rc`), until it is purged.
# - Its directories have the rights that the umask leaves, and some are empty: those of the sources that have no page.
# - Debian's policy (12.1, 12.7) wants the manual and the changes compressed; the checksums follow.
foreach(package IN LISTS CPACK_PACKAGE_FILES)
  set(tree ${CPACK_TEMPORARY_DIRECTORY}.repacked)
  file(REMOVE_RECURSE ${tree})
  execute_process(COMMAND dpkg-deb --raw-extract ${package} ${tree} COMMAND_ERROR_IS_FATAL ANY)
  file(REMOVE ${tree}/DEBIAN/postinst ${tree}/DEBIAN/postrm)
  execute_process(COMMAND find ${tree} -type d -exec chmod 755 {} + COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND find ${tree}/usr -type d -empty -delete COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND find ${tree}/usr/share/man ${tree}/usr/share/doc/reprieve/changelog -type f -exec gzip -9n {} + COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND find usr -type f -exec md5sum {} + WORKING_DIRECTORY ${tree} OUTPUT_FILE ${tree}/DEBIAN/md5sums COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND dpkg-deb --build --root-owner-group -Zxz ${tree} ${package} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  file(REMOVE_RECURSE ${tree})
endforeach()
