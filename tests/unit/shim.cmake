# Unit tests of the shim's own parts and of the supervisor's end: channel, directory watch, sealing.
add_executable(shim_listen ${CMAKE_SOURCE_DIR}/tests/e2e/shim_listen.c)
target_link_libraries(shim_listen PRIVATE supervisor)
add_dependencies(shim_listen reprieve-shim)

unit_test(sealing LIBRARIES supervisor)
unit_test(dir_watch LIBRARIES supervisor)
