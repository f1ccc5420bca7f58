/* Recognises network file systems, on which the kernel reports only the changes that this machine
 * makes. */
#ifndef NETWORK_FS_H
#define NETWORK_FS_H

#include <stdbool.h>
#include <stdint.h>

/* PURE. Name of the network file system with this f_type of statfs(2): "NFS", "Lustre", "FUSE",
 * ...; NULL: another file system. Static. */
const char *network_fs_name(uint32_t type);

/* Is the store's URL a directory on a local disk? It need not exist yet. */
bool network_fs_is_own_disk(const char *url);

/* Name of the network file system of `directory`; NULL: it is on another one, or statfs(2)
 * failed. */
const char *network_fs_of(const char *directory);

#endif
