#include "batch_scheduler.h"

#include <signal.h>
#include <stddef.h>

#define BIT(signal) (UINT64_C(1) << ((signal)-1))
#define USER_SIGNALS (BIT(SIGUSR1) | BIT(SIGUSR2))

// clang-format off
static const struct batch_scheduler schedulers[] = {
	/* sbatch(1) */
	{"slurm", "Slurm", "SLURM_JOB_ID", "--signal", BIT(SIGUSR1), false, true},
	/* submit(1), queue_conf(5): USR2 before SIGKILL, USR1 before SIGSTOP and at s_rt. JOB_ID is
	 * too common a name. */
	{"sge", "Grid Engine", "SGE_JOB_SPOOL_DIR", "-notify", USER_SIGNALS, true, false},
	/* oarsub(1) */
	{"oar", "OAR", "OAR_JOB_ID", "--checkpoint", USER_SIGNALS, false, false},
	/* bsub(1): -wa SIGNAL; lsb.queues(5): USR2 at the run limit */
	{"lsf", "LSF", "LSB_JOBID", "-wa", BIT(SIGUSR2), true, false},
};
// clang-format on

const struct batch_scheduler *batch_scheduler_find(char *(*get)(const char *name))
{
	for (size_t i = 0; i < sizeof(schedulers) / sizeof(schedulers[0]); i++) {
		const char *value = get(schedulers[i].variable);

		if (value && *value)
			return &schedulers[i];
	}
	return NULL;
}
