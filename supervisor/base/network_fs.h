/* Recognises network file systems, on which the kernel reports only the changes that this machine
 * makes, and shows those of others late. */
#ifndef BASE_NETWORK_FS_H
#define BASE_NETWORK_FS_H

#include <stdbool.h>
#include <stdint.h>

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
