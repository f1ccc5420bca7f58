/* What /proc says of a descriptor, or of a shared mapping, that a process reported. */
#ifndef HELD_FILE_H
#define HELD_FILE_H

#include "shim_channel.h"

/* See shim_link_holds(); `directory` is canonical, without a slash at its end. */
enum shim_link_held held_file_look(const char *directory, int pid, int descriptor);

#endif
