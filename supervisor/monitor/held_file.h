/* What /proc says of a descriptor, or of a shared mapping, that a process reported. */
#ifndef OPEN_FILES_FD_H
#define OPEN_FILES_FD_H

#include "shim_channel.h"

/* See shim_channel_query_fd(); `directory` is canonical, without a slash at its end. */
enum shim_channel_fd open_files_query_fd(const char *directory, int pid, int descriptor);

#endif
