/* Which file systems show only what this machine does: their events say nothing of other machines',
 * or of the server behind a mount. */
#ifndef NETWORK_FS_H
#define NETWORK_FS_H

#include <stdbool.h>
#include <stdint.h>

/* PURE. The name of one of those, by statfs' f_type: "NFS", "Lustre", "FUSE" ...;
 * NULL for any other. Static. */
const char *network_fs_name(uint32_t type);

/* Whether a store's URL is a directory, there or to be made, on none of those. */
bool network_fs_is_own_disk(const char *url);

/* Of the file system that `directory` is on; NULL also where that cannot be asked. */
const char *network_fs_of(const char *directory);

#endif
