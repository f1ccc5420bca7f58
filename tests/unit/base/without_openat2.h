/* Runs a group of tests twice: as it is, and in a child whose kernel seems to lack openat2(2), as
 * Linux before 5.6 and the filters of old container runtimes do. */
#ifndef WITHOUT_OPENAT2_H
#define WITHOUT_OPENAT2_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* From then on this process gets that error from that system call. */
static inline int forbid_call(long number, unsigned error)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(rules) / sizeof(rules[0]), .filter = rules};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
		       ? -1
		       : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static inline int run_with_and_without_openat2(int (*run)(void))
{
	pid_t child;
	int status;

	fflush(NULL);
	child = fork();
	if (child == 0) {
		if (forbid_call(SYS_openat2, EPERM) < 0)
			perror("seccomp");
		status = run();
		fflush(NULL);
		_exit(status > 100 ? 100 : status);
	}
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return 1;
	return WEXITSTATUS(status) + run();
}

#endif
