/*
 * Finds the processes that have files of a directory open for writing, or mapped writable, in
 * /proc: for processes without the shim. Also asks the kernel whether anybody has a file open for
 * writing.
 */
#ifndef OPEN_FILES_H
#define OPEN_FILES_H

#include <stdbool.h>
#include <sys/types.h>

/* `path`: such a file, or the directory where one is mapped. Borrowed. */
typedef void open_files_fn(void *arg, pid_t pid, const char *path);

/*
 * Calls `found` once for each of our descendants that has a file of `directory` (canonical) open
 * for writing. Misses processes whose /proc cannot be read, and those that reach the directory by
 * another path (a container's bind mount). Takes some 20 us for each process.
 */
void open_files_find_holders(const char *directory, open_files_fn *found, void *arg);

/* Does `pid` exist, and has it not begun to exit? Then it closed its files itself. */
bool open_files_is_running(pid_t pid);
/* Does this process have a file of `directory` open for writing? */
bool open_files_is_holder(const char *directory, pid_t pid);

enum open_files_descriptor {
	OPEN_FILES_DESCRIPTOR_OPEN,
	OPEN_FILES_DESCRIPTOR_CLOSED,
	OPEN_FILES_DESCRIPTOR_GONE /* the process has ended, or has begun to */
};
/*
 * Does the process still have a file of the directory (canonical, without a slash at its end) open
 * under this number? For use after lost reports. Reads /proc, so the process must share our PID
 * namespace; OPEN if /proc gives no answer.
 */
enum open_files_descriptor open_files_query_descriptor(const char *directory, pid_t pid,
						       int descriptor);

enum open_files_state {
	OPEN_FILES_NONE,
	OPEN_FILES_OPEN,
	OPEN_FILES_UNKNOWN, /* another user's file, or a file system that does not say: NFS, FUSE */
};
/*
 * Does any process on this machine, in whatever container, have the file open for writing or mapped
 * writable? Does not block; a process that opens the file meanwhile is delayed by some
 * microseconds. NONE also for a file that is gone and for what is no regular file.
 */
enum open_files_state open_files_query_file(const char *path);

#endif
