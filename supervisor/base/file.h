/* Whole files and directories: read, write durably, create, remove. All functions block. Errors
 * name paths as they were given. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * open(2) for a path that somebody else chose: it never blocks on a special file, and never makes a
 * terminal the controlling one. Accepts regular files and devices, and for writing also a pipe that
 * has a reader; file_write_all() returns ERR_RETRY if that is full. A pipe cannot be read, because
 * it may never end. Returns a descriptor with close-on-exec, or -1.
 */
int file_open(const char *path, int flags, mode_t mode, struct err *err);

/* The end of file_open(), for one that was opened in another way, with the same flags and
 * O_NONBLOCK: `fd`, or -1, then `reason` is errno. Takes over the descriptor. */
int file_check_opened(int fd, int reason, const char *path, int flags, struct err *err);

/* Appends the file to `out`, at most out->limit bytes. Opens it with file_open(). */
int file_read(const char *path, struct bytes *out, struct err *err);
/* The rest of an open file. */
int file_read_all(int fd, struct bytes *out, struct err *err);

/* Reads at most `size` bytes from the offset on. Returns how many: fewer where the file ends or
 * cannot be read. */
size_t file_read_at(int fd, void *target, size_t size, uint64_t offset);

/* Writes all or nothing, durably: temporary file beside it, fsync, rename, fsync of directory. */
int file_write(const char *path, const void *data, size_t size, struct err *err);

/* Writes all or nothing, but without fsync, so that it never waits for a busy disk: for files whose
 * readers are on this machine. */
int file_replace(const char *path, const void *data, size_t size, struct err *err);
/* The same, of a path from a directory that is held open. `durable`: the file is on the disk then,
 * but its name perhaps not. */
int file_replace_at(int directory, const char *path, const void *data, size_t size, bool durable,
		    struct err *err);

/* Calls write(2) until all is written. ERR_RETRY: the descriptor is non-blocking and full. */
int file_write_all(int fd, const void *data, size_t size, struct err *err);

/* mkdir -p. Directories that exist are fine. */
int file_make_directories(const char *path, mode_t mode, struct err *err);

/* unlinkat(2); a directory of ours that is read-only is made writable first. */
int file_unlink_anyway(int directory, const char *name, int flags);

struct walk;
/* Removes all that the walk, which was opened with WALK_LEAVE, comes upon. -1 and errno. */
int file_remove_walk(struct walk *walk);

/* rm -rf, without following links. A missing path is fine, and so are read-only directories. */
int file_remove_tree(const char *path, struct err *err);

/* fsync of a directory, so that a rename or link in it is durable. */
int file_sync_directory(const char *path, struct err *err);
/* The same of one that is open for reading. */
int file_sync_held_directory(int directory, struct err *err);

bool file_exists(const char *path); /* lstat succeeds */
bool file_is_directory(const char *path);
/* A missing directory counts as empty. */
bool file_directory_is_empty(const char *path);
/* Why the path is not a directory with entries, for people: "is a link to nothing"; NULL: it is.
 * Static. */
const char *file_directory_state(const char *path);

/* The absolute path, with links resolved as far as it exists. The caller frees. */
char *file_absolute(const char *path);

/* 128 random bits in hex, from getrandom(2). `target` holds 33 bytes. */
void random_hex(char target[33]);

/* --- network file systems --- */

/* Recognises network file systems, on which the kernel reports only the changes that this machine
 * makes, and shows those of others late. */

/* PURE. Name of the network file system with this f_type of statfs(2): "NFS", "Lustre", "FUSE",
 * ...; NULL: another file system. Static. */
const char *network_fs_name(uint32_t type);

/* Name of the network file system of `directory`, which need not exist yet: then it is that of its
 * nearest existing parent. NULL: it is on another one, or statfs(2) failed. */
const char *network_fs_of(const char *directory);

/* Is the store's URL a directory on a local disk? */
bool network_fs_is_own_disk(const char *url);

/* As the kernel's table says; what does not fit is cut off. */
struct network_fs_mount {
	char type[64];    /* "fuse.sshfs" */
	char source[512]; /* "host:/directory" */
};
/* The mount that holds a directory. False: the table does not say. */
bool network_fs_mount_of(const char *directory, struct network_fs_mount *mount);

#endif
