/*
 * Who has files of a directory open for writing, or mapped for it: by /proc, for processes that do
 * not say so themselves. And whether anybody at all has, by the kernel's word.
 */
#ifndef OPEN_FILES_H
#define OPEN_FILES_H

#include "shim_channel.h"

#include <stdbool.h>
#include <sys/types.h>

typedef void open_files_fn(void *arg, pid_t pid);

/*
 * Each of our descendants that holds one, once. `directory` is canonical. Those whose /proc may not
 * be read, and those that reach the directory under another name (a bind mount of a container), are
 * left out. Reads /proc: some 20 us for each process.
 */
void open_files_find_holders(const char *directory, open_files_fn *found, void *arg);

/* Is `pid` there, and has not begun to end? Then what it has closed, it has closed itself. */
bool open_files_is_running(pid_t pid);
bool open_files_is_holder(const char *directory, pid_t pid);

/* See shim_channel_query_fd(); `directory` is canonical, without a slash at its end. */
enum shim_channel_fd open_files_query_fd(const char *directory, pid_t pid, int descriptor);

enum open_files_state {
	OPEN_FILES_NONE,
	OPEN_FILES_OPEN,
	OPEN_FILES_UNKNOWN, /* another user's file, or a file system that does not say: NFS, FUSE */
};
/*
 * Has anybody on this machine got the file open for writing, or mapped, whatever process and
 * container it is in? Does not block, does not wait for others, and a process that opens it
 * meanwhile waits for some microseconds. NONE too for what is gone, or no regular file.
 */
enum open_files_state open_files_query_file(const char *path);

#endif
