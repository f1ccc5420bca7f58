#include "shared_file.h"

#include "base/log.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLACES 8

/* What the handler may read at any instant: where files are mapped. */
static struct place {
	_Atomic uintptr_t begin; /* 0: free */
	_Atomic size_t size;
	_Atomic bool lost; /* zeros are mapped there instead */
} places[PLACES];

/* The instruction is tried again when this returns: it then finds zeros, or ends the process as it
 * would have without us. */
static void page_is_gone(int signal, siginfo_t *info, void *context)
{
	(void)context;
	uintptr_t at = (uintptr_t)info->si_addr;
	int saved = errno;

	for (size_t i = 0; info->si_code > 0 && i < PLACES; i++) {
		uintptr_t begin = places[i].begin;

		if (begin == 0 || at < begin || at - begin >= places[i].size)
			continue;
		if (mmap((void *)begin, places[i].size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			break;
		places[i].lost = true;
		errno = saved;
		return;
	}
	errno = saved;
	(void)sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	/* Nothing is tried again after a signal that was sent. */
	if (info->si_code <= 0)
		raise(signal);
}

static void install_handler(void)
{
	struct sigaction action = {.sa_sigaction = page_is_gone, .sa_flags = SA_SIGINFO};

	sigemptyset(&action.sa_mask);
	(void)sigaction(SIGBUS, &action, NULL);
}

static int take_place(const struct shared_file *file)
{
	for (int i = 0; i < PLACES; i++) {
		if (places[i].begin != 0)
			continue;
		places[i].size = file->size;
		places[i].lost = false;
		places[i].begin = (uintptr_t)file->memory;
		return i;
	}
	return -1;
}

static int map_file(struct shared_file *file, struct err *err)
{
	int fixed = file->memory ? MAP_FIXED : 0;
	void *memory = mmap(file->memory, file->size, PROT_READ | PROT_WRITE, MAP_SHARED | fixed,
			    file->fd, 0);

	if (memory == MAP_FAILED)
		return err_os(err, errno, "mmap %s", file->path);
	file->memory = memory;
	return 0;
}

static int allocate_blocks(const struct shared_file *file, struct err *err)
{
	int failed = posix_fallocate(file->fd, 0, (off_t)file->size);

	return failed ? err_os(err, failed, "%s", file->path) : 0;
}

int shared_file_make(struct shared_file *file, const char *path, size_t size, struct err *err)
{
	*file = (struct shared_file){.path = text_copy(path), .size = size, .slot = -1};
	install_handler();
	file->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (file->fd < 0)
		return err_os(err, errno, "%s", path);
	if (allocate_blocks(file, err) < 0 || map_file(file, err) < 0)
		return -1;
	file->slot = take_place(file);
	return 0;
}

void shared_file_remove(struct shared_file *file)
{
	if (file->slot >= 0 && file->memory)
		places[file->slot].begin = 0;
	if (file->memory)
		munmap(file->memory, file->size);
	if (file->path && file->fd >= 0) {
		unlink(file->path);
		close(file->fd);
	}
	free(file->path);
	*file = (struct shared_file){.fd = -1, .slot = -1};
}

static bool is_torn(const struct shared_file *file, uint32_t magic)
{
	struct stat status;

	if (fstat(file->fd, &status) < 0 || status.st_size < (off_t)file->size)
		return true;
	return *(volatile uint32_t *)file->memory != magic ||
	       (file->slot >= 0 && places[file->slot].lost);
}

static int mend(struct shared_file *file, const void *head, size_t head_size, struct err *err)
{
	/* First the head: whoever finds the size right finds the head right. */
	if (pwrite(file->fd, head, head_size, 0) != (ssize_t)head_size)
		return err_os(err, errno, "%s", file->path);
	if (allocate_blocks(file, err) < 0 || map_file(file, err) < 0)
		return -1;
	if (file->slot >= 0)
		places[file->slot].lost = false;
	return 0;
}

bool shared_file_keep_whole(struct shared_file *file, const void *head, size_t head_size,
			    const char *what)
{
	struct err err;

	if (file->given_up || !is_torn(file, *(const uint32_t *)head))
		return false;
	if (mend(file, head, head_size, &err) < 0) {
		file->given_up = true;
		log_warn("the job has emptied %s, and it cannot be made again: %s", what, err.text);
	} else if (!file->mended) {
		log_warn("the job has emptied %s (%s); it goes on with a new one", what,
			 file->path);
	}
	file->mended = true;
	return true;
}
