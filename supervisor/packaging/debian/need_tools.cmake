# Read by cpack ahead of the package. Without these two it would make one that depends on nothing, or none, and say little of the reason.
foreach(row IN ITEMS file:file dpkg-shlibdeps:dpkg-dev)
  string(REPLACE ":" ";" row ${row})
  list(POP_FRONT row program package)
  find_program(found_${program} ${program})
  if(NOT found_${program})
    # The blank ahead keeps CMake from folding the line.
    message(FATAL_ERROR " the Debian package needs ${program}: apt-get install ${package}, or examples/install_packages.sh build")
  endif()
endforeach()
