/* Whole files and directories: read, write durably, make, list, remove. All block. Paths in
 * errors are as given. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/err.h"
#include "base/text.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * open(2) of a path that somebody else chose, that never waits for what lies there and takes no
 * terminal for its own. Regular files and devices; to write also a pipe that somebody reads, of
 * which a write that would have to wait says ERR_RETRY (file_write_all()). To read a pipe is
 * refused: it may never end, and gives nothing the second time. Returns a descriptor with
 * close-on-exec.
 */
int file_open(const char *path, int flags, mode_t mode, struct err *err);

/* Appends the file to `out`, at most out->limit bytes. As file_open() takes it. */
int file_read(const char *path, struct bytes *out, struct err *err);

/* All or nothing and durable: temporary file beside it, fsync, rename, fsync of the directory. */
int file_write(const char *path, const void *data, size_t size, struct err *err);

/* The same for whoever reads it while this machine is up: nothing waits for a disk, which may be
 * busy with all that the job has written. */
int file_replace(const char *path, const void *data, size_t size, struct err *err);

/* write(2) until all is written, also over EINTR and short writes. ERR_RETRY: the descriptor does
 * not wait, and has no room. */
int file_write_all(int fd, const void *data, size_t size, struct err *err);

/* mkdir -p. Directories that exist are fine. */
int file_make_directories(const char *path, mode_t mode, struct err *err);

/* rm -rf without following links. A path that is not there is fine. */
int file_remove_tree(const char *path, struct err *err);

/* fsync of a directory, so that a rename or link in it is durable. */
int file_sync_directory(const char *path, struct err *err);

bool file_exists(const char *path); /* lstat succeeds */
bool file_is_directory(const char *path);
/* True also for a directory that is not there. */
bool file_directory_is_empty(const char *path);
/* Why it is no directory with something in it, for a person: "is a link to
 * nothing". NULL: it is one. Static. */
const char *file_directory_state(const char *path);

/* Absolute, links resolved as far as the path exists; the rest is appended. The caller frees. */
char *file_absolute(const char *path);

/* 128 random bits in hex, from getrandom(2). `target` holds 33 bytes. */
void random_hex(char target[33]);

#endif
