#include "network_fs.h"

#include "cleanup.h"
#include "file.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

const char *network_fs_name(uint32_t type)
{
	/* From linux/magic.h and the file systems' own sources. */
	static const struct {
		const char *name;
		uint32_t type;
	} known[] = {
		{"NFS", 0x6969},        {"Lustre", 0x0bd00bd0},
		{"FUSE", 0x65735546}, /* and virtiofs */
		{"9p", 0x01021997},     {"CIFS", 0xff534d42},
		{"SMB2", 0xfe534d42},   {"SMB", 0x517b},
		{"Ceph", 0x00c36400},   {"GPFS", 0x47504653},
		{"BeeGFS", 0x19830326}, {"AFS", 0x5346414f},
		{"OCFS2", 0x7461636f},  {"GFS2", 0x01161970},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].type == type)
			return known[i].name;
	return NULL;
}

const char *network_fs_of(const char *directory)
{
	auto_free char *path = text_copy(directory);
	struct statfs status;

	while (!file_exists(path) && strrchr(path, '/') > path)
		*strrchr(path, '/') = '\0';
	return statfs(path, &status) < 0 ? NULL : network_fs_name((uint32_t)status.f_type);
}

bool network_fs_is_own_disk(const char *url)
{
	return text_starts(url, "file:///") && !network_fs_of(url + strlen("file://"));
}

/* The fields of the line behind " - " are the type and the source. */
static bool read_mount_line(char *line, dev_t device, struct network_fs_mount *mount)
{
	char *end = strstr(line, " - ");
	unsigned major, minor;

	if (!end || sscanf(line, "%*d %*d %u:%u", &major, &minor) != 2 ||
	    makedev(major, minor) != device)
		return false;
	return sscanf(end, " - %63s %511s", mount->type, mount->source) == 2;
}

bool network_fs_mount_of(const char *directory, struct network_fs_mount *mount)
{
	auto_(bytes_release) struct bytes table = {0};
	struct stat status;
	char *rest = NULL;

	if (stat(directory, &status) < 0 || file_read("/proc/self/mountinfo", &table, NULL) < 0 ||
	    bytes_append(&table, "", 1, NULL) < 0)
		return false;
	for (char *line = strtok_r((char *)table.data, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest))
		if (read_mount_line(line, status.st_dev, mount))
			return true;
	return false;
}
