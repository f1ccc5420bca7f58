#include "session_place.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *session_parent(int index)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	if (index == 0)
		return runtime && runtime[0] == '/' ? text_format("%s/reprieve", runtime) : NULL;
	/* Where nobody else can take the name before us. Last, because it may be on a network. */
	if (index == 3) {
		const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

		if (cache && cache[0] == '/')
			return text_format("%s/reprieve", cache);
		return home && home[0] == '/' ? text_format("%s/.cache/reprieve", home) : NULL;
	}
	return text_format("%s/reprieve-%u", index == 1 ? "/tmp" : "/dev/shm", (unsigned)getuid());
}

int session_parent_check(const char *path, struct err *err)
{
	struct stat status;

	if (lstat(path, &status) < 0)
		return err_os(err, errno, "%s", path);
	if (!S_ISDIR(status.st_mode) || status.st_uid != getuid() || (status.st_mode & 077) != 0)
		return err_set(err, ERR_DENIED,
			       "%s is not a private directory of this user (mode 0700)", path);
	return 0;
}

int session_parent_make(const char *path, struct err *err)
{
	auto_free char *above = text_copy_n(path, (size_t)(strrchr(path, '/') - path));

	if (text_ends(above, "/.cache"))
		(void)mkdir(above, 0700);
	if (mkdir(path, 0700) < 0 && errno != EEXIST && errno != EROFS)
		return err_os(err, errno, "cannot make directory %s", path);
	return session_parent_check(path, err);
}

int session_open_lock(const char *directory, int flags)
{
	auto_free char *path = text_format("%s/lock", directory);

	return open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
}

uint64_t session_pid_namespace(void)
{
	uint64_t device, inode;

	return proc_pid_namespace(&device, &inode) ? inode : 0;
}
