# Writes commit.c, which names the commit that is built: that of the checkout, else that of the tarball (git archive has put it into
# commit.txt), else "unknown".
#   cmake -D SOURCES=DIR -D OUTPUT=FILE [-D GIT=PROGRAM] -P write_commit.cmake
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/commit.txt commit LIMIT_COUNT 1)
if(commit MATCHES "^\\$")
  set(commit unknown)
  # A tree that merely lies in another's checkout has no commit.
  if(GIT AND EXISTS ${SOURCES}/.git)
    execute_process(COMMAND ${GIT} -C ${SOURCES} rev-parse --verify HEAD
      OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
    if(NOT failed)
      set(commit ${head})
    endif()
  endif()
endif()
string(REGEX MATCH "^([0-9a-f]+|unknown)" commit "${commit}")
string(SUBSTRING "${commit}" 0 12 commit)
file(WRITE ${OUTPUT} "extern const char version_commit[];\nconst char version_commit[] = \"${commit}\";\n")
