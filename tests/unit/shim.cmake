# Unit tests of the shim's own parts and of the supervisor's end: channel, directory watch, sealing.
add_executable(shim_listen ${CMAKE_SOURCE_DIR}/tests/e2e/shim_listen.c)
target_link_libraries(shim_listen PRIVATE supervisor)
add_dependencies(shim_listen reprieve-shim)

unit_test(sealing LIBRARIES supervisor)
unit_test(dir_watch LIBRARIES supervisor)
unit_test(preload LIBRARIES supervisor)
unit_test(shim_link LIBRARIES supervisor)
unit_test(path_set LIBRARIES supervisor)
unit_test(report_page LIBRARIES supervisor)
unit_test(shield LIBRARIES supervisor)
# The shim is no library to link: its PURE parts are compiled again, and so sanitized as well.
unit_test(place LIBRARIES base)
target_sources(test_place PRIVATE ${CMAKE_SOURCE_DIR}/shim/place.c)
unit_test(mapped LIBRARIES base)
target_sources(test_mapped PRIVATE ${CMAKE_SOURCE_DIR}/shim/mapped.c)
unit_test(tracked LIBRARIES base)
target_sources(test_tracked PRIVATE ${CMAKE_SOURCE_DIR}/shim/tracked.c)
