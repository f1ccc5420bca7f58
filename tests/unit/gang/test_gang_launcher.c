/* Which commands start the job on all machines. */
#include "gang/gang_identity.h"

#include <string.h>

#include "unit.h"

struct launcher_row {
	/* NULL: it starts what runs on one machine, or that is not certain. */
	const char *found;
	const char *command[8];
};

// clang-format off
static const struct launcher_row rows[] = {
	{"mpirun", {"mpirun", "-np", "8", "python"}},
	{"mpirun.openmpi", {"/usr/bin/mpirun.openmpi", "python"}},
	{"mpiexec.hydra", {"mpiexec.hydra", "-n", "2", "python"}},
	{"mpirun_rsh", {"mpirun_rsh", "-np", "2", "a", "b", "./t"}},
	{"orterun", {"orterun", "python"}},
	{"prterun", {"prterun", "python"}},
	{"srun", {"srun", "--nodes=2", "torchrun", "t.py"}},
	{"horovodrun", {"horovodrun", "-np", "4", "python"}},
	{"deepspeed", {"deepspeed", "--hostfile=h", "t.py"}},
	{"ray", {"ray", "job", "submit", "--", "python"}},
	{"parallel-ssh", {"parallel-ssh", "-h", "hosts", "train"}},
	{"pdsh", {"pdsh", "-w", "a,b", "train"}},
	{"mpirun", {"env", "OMP_NUM_THREADS=1", "mpirun", "python"}},
	{"mpirun", {"/usr/bin/env", "-i", "-u", "HOME", "PATH=/bin", "mpirun"}},
	{"mpirun", {"env", "-C", "/work", "env", "--", "mpirun"}},
	{"horovod.runner", {"python", "-m", "horovod.runner", "-np", "2"}},
	{"deepspeed.launcher.runner", {"/opt/bin/python3.11", "-u", "-X", "dev", "-m", "deepspeed.launcher.runner"}},
	{"horovod.runner", {"env", "A=b", "python3", "-m", "horovod.runner"}},
	{NULL, {NULL}},
	{NULL, {"python", "t.py"}},
	{NULL, {"torchrun", "--nnodes=2", "t.py"}},
	{NULL, {"accelerate", "launch", "t.py"}},
	{NULL, {"python", "-m", "torch.distributed.run", "t.py"}},
	{NULL, {"deepspeed", "--no_ssh", "--node_rank=1", "t.py"}},
	/* What comes behind another program is its own affair. */
	{NULL, {"python", "mpirun", "-m", "horovod.runner"}},
	{NULL, {"bash", "-c", "mpirun python"}},
	{NULL, {"env", "-S", "mpirun python"}},
	{NULL, {"env", "mpirun=1"}},
	{NULL, {"env"}},
	{NULL, {"python", "-m"}},
	{NULL, {"mpirunner"}},
	{NULL, {"rays"}},
	{NULL, {"mpirun/t"}},
};
// clang-format on

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *found = gang_launcher_of_all(rows[i].command);

		if (!found != !rows[i].found || (found && strcmp(found, rows[i].found) != 0))
			fail_msg("row %zu (%s): %s", i,
				 rows[i].command[0] ? rows[i].command[0] : "nothing",
				 found ? found : "none");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
