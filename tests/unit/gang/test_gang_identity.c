/* Which member of a gang this is, over the environments of launchers. */
#include "gang/gang.h"

#include "base/json.h"
#include "base/text.h"

#include <string.h>

#include "unit.h"

#define SETTINGS_MOST 12

struct identity_row {
	const char *what;
	const char *gang, *member;
	const char *settings[SETTINGS_MOST]; /* "NAME=value" */
	const char *command[8];
	/* 0: it is an error that names both of these */
	uint32_t members, found;
	const char *named[2];
};

// clang-format off
static const struct identity_row rows[] = {
	{"off", "off", "3", {"SLURM_STEP_NUM_NODES=4", "SLURM_NODEID=2"}, {"python"}, 1, 0, {0}},
	{"nothing says so", "auto", NULL, {0}, {"python"}, 1, 0, {0}},
	{"one machine", "1", NULL, {0}, {"python"}, 1, 0, {0}},
	{"by hand", "4", "3", {0}, {"python"}, 4, 3, {0}},
	{"by hand wins",
		"4", "3", {"SLURM_STEP_NUM_NODES=8", "SLURM_NODEID=7"}, {"python"}, 4, 3, {0}},
	{"no number", "many", "3", {0}, {"python"}, 0, 0, {"--gang", "many"}},
	{"none at all", "0", "0", {0}, {"python"}, 0, 0, {"--gang", "'0'"}},
	{"no member", "4", "x", {0}, {"python"}, 0, 0, {"--member", "x"}},
	{"beyond", "4", "4", {0}, {"python"}, 0, 0, {"--member", "only 4"}},
	{"which one?", "4", NULL, {0}, {"python"}, 0, 0, {"--gang", "--member"}},

	{"srun, one task a node", "auto", NULL,
		{"SLURM_STEP_NUM_NODES=4", "SLURM_STEP_NUM_TASKS=4", "SLURM_NODEID=2", "SLURM_PROCID=2"},
		{"python"}, 4, 2, {0}},
	{"srun, two tasks a node", "auto", NULL,
		{"SLURM_STEP_NUM_NODES=4", "SLURM_STEP_NUM_TASKS=8", "SLURM_NODEID=2", "SLURM_PROCID=5"},
		{"python"}, 8, 5, {0}},
	{"srun on one node", "auto", NULL,
		{"SLURM_STEP_NUM_NODES=1", "SLURM_STEP_NUM_TASKS=1", "SLURM_NODEID=0"},
		{"python"}, 1, 0, {0}},
	{"a batch script is one", "auto", NULL, {"SLURM_JOB_NUM_NODES=4", "SLURM_NODEID=0"},
		{"python"}, 1, 0, {0}},
	{"indexed job", "4", NULL, {"JOB_COMPLETION_INDEX=1"}, {"python"}, 4, 1, {0}},
	{"indexed job, how many?", "auto", NULL, {"JOB_COMPLETION_INDEX=1"}, {"python"},
		0, 0, {"JOB_COMPLETION_INDEX", "--gang N"}},
	{"indexed job with torch",
		"auto", NULL, {"JOB_COMPLETION_INDEX=1", "PET_NNODES=2"}, {"torchrun"},
		2, 1, {0}},
	{"indexed job with a world",
		"auto", NULL, {"JOB_COMPLETION_INDEX=1", "WORLD_SIZE=3"}, {"python"},
		3, 1, {0}},
	{"PyTorchJob", "auto", NULL, {"PET_NNODES=3", "PET_NODE_RANK=2"}, {"torchrun"}, 3, 2, {0}},
	{"elastic PyTorchJob", "auto", NULL, {"PET_NNODES=1:4"}, {"torchrun"},
		0, 0, {"PET_NNODES", "1:4"}},
	{"Volcano", "auto", NULL, {"VC_TASK_INDEX=1", "VC_WORKER_NUM=2"}, {"python"}, 2, 1, {0}},
	{"Volcano with a master", "auto", NULL,
		{"VC_TASK_INDEX=1", "VC_WORKER_NUM=2", "VC_MASTER_NUM=1"}, {"python"}, 1, 0, {0}},
	{"OpenMPI",
		"auto", NULL, {"OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_RANK=3"}, {"python"}, 4, 3, {0}},
	{"half of OpenMPI", "auto", NULL, {"OMPI_COMM_WORLD_SIZE=4"}, {"python"}, 1, 0, {0}},
	{"PMI", "auto", NULL, {"PMI_SIZE=4", "PMI_RANK=0"}, {"python"}, 4, 0, {0}},
	{"Batch",
		"auto", NULL, {"AWS_BATCH_JOB_NUM_NODES=4", "AWS_BATCH_JOB_NODE_INDEX=2"}, {"python"},
		4, 2, {0}},
	{"SkyPilot",
		"auto", NULL, {"SKYPILOT_NUM_NODES=2", "SKYPILOT_NODE_RANK=1"}, {"python"}, 2, 1, {0}},
	{"SageMaker", "auto", NULL, {"SM_HOSTS=[\"algo-1\",\"algo-2\"]", "SM_CURRENT_HOST=algo-2"},
		{"python"}, 2, 1, {0}},
	{"SageMaker, another host",
		"auto", NULL, {"SM_HOSTS=[\"algo-1\"]", "SM_CURRENT_HOST=algo-2"},
		{"python"}, 1, 0, {0}},

	{"torchrun",
		"auto", NULL, {0}, {"torchrun", "--nnodes", "4", "--node-rank", "1", "t.py"}, 4, 1, {0}},
	{"torchrun with =",
		"auto", NULL, {0}, {"torchrun", "--nnodes=4", "--node_rank=3", "t.py"}, 4, 3, {0}},
	{"torchrun, one node", "auto", NULL, {0}, {"torchrun", "--nnodes=1", "t.py"}, 1, 0, {0}},
	{"torchrun, c10d",
		"auto", NULL, {0}, {"torchrun", "--nnodes=4", "--rdzv-backend=c10d", "t.py"},
		0, 0, {"--nnodes", "--member"}},
	{"torchrun, c10d in a step", "auto", NULL,
		{"SLURM_STEP_NUM_NODES=4", "SLURM_STEP_NUM_TASKS=4", "SLURM_NODEID=2"},
		{"torchrun", "--nnodes=4", "--rdzv-backend=c10d", "t.py"}, 4, 2, {0}},
	{"torchrun, elastic", "auto", NULL, {0}, {"torchrun", "--nnodes", "1:4", "t.py"},
		0, 0, {"--nnodes", "1:4"}},
	{"torchrun, elastic by hand",
		"4", "1", {0}, {"torchrun", "--nnodes", "1:4", "t.py"}, 4, 1, {0}},
	{"accelerate", "auto", NULL, {0},
		{"accelerate", "launch", "--num_machines", "2", "--machine_rank", "1", "t.py"}, 2, 1, {0}},

	/* What launchers really set, all of it. */
	{"srun with PMI2, two tasks a node", "auto", NULL,
		{"SLURM_JOB_ID=7", "SLURM_JOB_NUM_NODES=2", "SLURM_NNODES=2", "SLURM_NTASKS=4",
			"SLURM_STEP_ID=0", "SLURM_STEP_NUM_NODES=2", "SLURM_STEP_NUM_TASKS=4",
			"SLURM_NODEID=1", "SLURM_PROCID=3", "SLURM_LOCALID=1", "PMI_RANK=3", "PMI_SIZE=4"},
		{"python"}, 4, 3, {0}},
	{"srun with PMIx", "auto", NULL,
		{"SLURM_STEP_NUM_NODES=2", "SLURM_STEP_NUM_TASKS=2", "SLURM_NODEID=1", "SLURM_PROCID=1",
			"PMIX_RANK=1", "PMIX_NAMESPACE=slurm.pmix.7.0"},
		{"python"}, 2, 1, {0}},
	{"OpenMPI's mpirun under Slurm, whose daemons are a step", "auto", NULL,
		{"SLURM_STEP_NUM_NODES=3", "SLURM_STEP_NUM_TASKS=3", "SLURM_NODEID=2", "SLURM_PROCID=2",
			"OMPI_COMM_WORLD_SIZE=8", "OMPI_COMM_WORLD_RANK=7", "OMPI_COMM_WORLD_LOCAL_RANK=1",
			"OMPI_COMM_WORLD_LOCAL_SIZE=2", "OMPI_COMM_WORLD_NODE_RANK=1", "PMIX_RANK=7"},
		{"python"}, 8, 7, {0}},
	{"MPICH's and Intel's mpirun under Slurm", "auto", NULL,
		{"SLURM_STEP_NUM_NODES=4", "SLURM_STEP_NUM_TASKS=4", "SLURM_NODEID=2", "SLURM_PROCID=2",
			"PMI_SIZE=8", "PMI_RANK=5", "MPI_LOCALNRANKS=2", "MPI_LOCALRANKID=1"},
		{"python"}, 8, 5, {0}},
	{"MPIJob: a process of its worker", "auto", NULL,
		{"OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_LOCAL_RANK=0",
			"OMPI_COMM_WORLD_LOCAL_SIZE=1", "PMIX_RANK=1", "KUBERNETES_SERVICE_HOST=10.0.0.1"},
		{"python"}, 2, 1, {0}},
	{"MPIJob: its launcher", "auto", NULL,
		{"OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile", "KUBERNETES_SERVICE_HOST=10.0.0.1"},
		{"mpirun", "-np", "2", "python"}, 1, 0, {0}},
	{"PyTorchJob, two ranks a pod", "auto", NULL,
		{"MASTER_ADDR=job-master-0", "MASTER_PORT=23456", "WORLD_SIZE=6", "RANK=2",
			"PET_MASTER_ADDR=job-master-0", "PET_MASTER_PORT=23456", "PET_NPROC_PER_NODE=2",
			"PET_NNODES=3", "PET_NODE_RANK=2"},
		{"torchrun", "train.py"}, 3, 2, {0}},
	{"PyTorchJob of an old operator", "auto", NULL,
		{"MASTER_ADDR=job-master-0", "MASTER_PORT=23456", "WORLD_SIZE=3", "RANK=2"},
		{"python"}, 3, 2, {0}},
	{"TrainJob", "auto", NULL,
		{"JOB_COMPLETION_INDEX=1", "PET_NNODES=2", "PET_NPROC_PER_NODE=8", "PET_NODE_RANK=1",
			"PET_MASTER_ADDR=job-node-0-0.job", "PET_MASTER_PORT=29400"},
		{"torchrun", "train.py"}, 2, 1, {0}},
	{"JobSet: as any indexed Job", "2", NULL,
		{"JOB_COMPLETION_INDEX=1", "KUBERNETES_SERVICE_HOST=10.0.0.1"},
		{"torchrun", "--nnodes=2", "--node-rank=1", "t.py"}, 2, 1, {0}},
	{"Volcano with a master and its plugin for torch", "auto", NULL,
		{"VC_TASK_INDEX=0", "VK_TASK_INDEX=0", "VC_MASTER_NUM=1", "VC_MASTER_HOSTS=j-master-0.j",
			"VC_WORKER_NUM=2", "VC_WORKER_HOSTS=j-worker-0.j,j-worker-1.j",
			"MASTER_ADDR=j-master-0.j", "MASTER_PORT=23456", "WORLD_SIZE=3", "RANK=1"},
		{"python"}, 3, 1, {0}},
	{"AWS Batch, multi-node", "auto", NULL,
		{"AWS_BATCH_JOB_ID=ab-12#0", "AWS_BATCH_JOB_ATTEMPT=1", "AWS_BATCH_JOB_NUM_NODES=4",
			"AWS_BATCH_JOB_NODE_INDEX=0", "AWS_BATCH_JOB_MAIN_NODE_INDEX=0"},
		{"python"}, 4, 0, {0}},
	{"SkyPilot by its addresses", "auto", NULL,
		{"SKYPILOT_TASK_ID=sky-1", "SKYPILOT_NODE_RANK=2",
			"SKYPILOT_NODE_IPS=10.0.0.1\n10.0.0.2\n10.0.0.3", "SKYPILOT_NUM_GPUS_PER_NODE=8"},
		{"python"}, 3, 2, {0}},
	{"SkyPilot, both", "auto", NULL,
		{"SKYPILOT_NUM_NODES=2", "SKYPILOT_NODE_IPS=10.0.0.1\n10.0.0.2", "SKYPILOT_NODE_RANK=0"},
		{"python"}, 2, 0, {0}},
	{"SkyPilot on one", "auto", NULL,
		{"SKYPILOT_NUM_NODES=1", "SKYPILOT_NODE_IPS=10.0.0.1", "SKYPILOT_NODE_RANK=0"},
		{"python"}, 1, 0, {0}},
	{"SageMaker, whose list is in another order on each host", "auto", NULL,
		{"SM_HOSTS=[\"algo-3\",\"algo-1\",\"algo-2\"]", "SM_CURRENT_HOST=algo-3", "SM_NUM_GPUS=8",
			"TRAINING_JOB_NAME=t-1"},
		{"python"}, 3, 2, {0}},
	{"a supervisor for each rank of torchrun", "auto", NULL,
		{"RANK=5", "WORLD_SIZE=8", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=4", "GROUP_RANK=1",
			"MASTER_ADDR=a", "MASTER_PORT=1", "TORCHELASTIC_RESTART_COUNT=0"},
		{"python"}, 8, 5, {0}},
	{"the same, and each machine is started by srun", "auto", NULL,
		{"RANK=5", "WORLD_SIZE=8", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=4", "TORCHELASTIC_RUN_ID=none",
			"SLURM_STEP_NUM_NODES=2", "SLURM_STEP_NUM_TASKS=2", "SLURM_NODEID=1", "PET_NNODES=2"},
		{"python"}, 8, 5, {0}},
	{"half of torch's pair", "auto", NULL, {"RANK=1"}, {"python"}, 1, 0, {0}},
	{"torch's pair says least", "auto", NULL,
		{"RANK=1", "WORLD_SIZE=16", "OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_RANK=1"},
		{"python"}, 2, 1, {0}},
	{"torch's pair does not make an elastic job a fixed one", "auto", NULL,
		{"PET_NNODES=1:4", "RANK=1", "WORLD_SIZE=2"}, {"torchrun"}, 0, 0, {"PET_NNODES", "1:4"}},
	{"accelerate with its other spelling", "auto", NULL, {0},
		{"accelerate", "launch", "--num-machines=4", "--machine-rank=3", "t.py"}, 4, 3, {0}},

	{"two numbers", "auto", NULL, {"SLURM_STEP_NUM_NODES=4", "SLURM_NODEID=1"},
		{"torchrun", "--nnodes=2", "--node-rank=1", "t.py"}, 0, 0,
		{"SLURM_STEP_NUM_NODES", "--nnodes"}},
	{"two places", "auto", NULL, {"SLURM_STEP_NUM_NODES=2", "SLURM_NODEID=1"},
		{"torchrun", "--nnodes=2", "--node-rank=0", "t.py"}, 0, 0,
		{"SLURM_NODEID", "--node-rank"}},
	{"against --gang", "3", NULL, {"SLURM_STEP_NUM_NODES=2", "SLURM_NODEID=1"}, {"python"},
		0, 0, {"--gang", "SLURM_STEP_NUM_NODES"}},
	{"against --member", "auto", "0", {"SLURM_STEP_NUM_NODES=2", "SLURM_NODEID=1"}, {"python"},
		0, 0, {"--member", "SLURM_NODEID"}},
};
// clang-format on

static const char *setting(void *arg, const char *name)
{
	const struct identity_row *row = arg;
	size_t length = strlen(name);

	for (size_t i = 0; i < SETTINGS_MOST && row->settings[i]; i++)
		if (strncmp(row->settings[i], name, length) == 0 && row->settings[i][length] == '=')
			return row->settings[i] + length + 1;
	return NULL;
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct identity_row *row = &rows[i];
		struct gang_identity identity;
		struct err err = {0};
		int result = gang_identity_find(row->gang, row->member, setting, (void *)row,
						row->command, &identity, &err);

		if (row->members == 0) {
			/* Of the command line, or of what the launcher says beside it. */
			bool usage = text_starts(err.text, "invalid --");

			if (result == 0 || err.kind != (usage ? ERR_INVALID : ERR_UNFIT))
				fail_msg("%s: no such error", row->what);
			for (int j = 0; j < 2; j++)
				if (!strstr(err.text, row->named[j]))
					fail_msg("%s: \"%s\" lacks %s", row->what, err.text,
						 row->named[j]);
			continue;
		}
		if (result < 0)
			fail_msg("%s: %s", row->what, err.text);
		if (identity.members != row->members || identity.member != row->found)
			fail_msg("%s: %u of %u", row->what, identity.member, identity.members);
		if ((identity.members > 1) != (identity.origin[0] != '\0'))
			fail_msg("%s: origin \"%s\"", row->what, identity.origin);
	}
}

/* Nobody has said anything of a gang. `apart`: why there is none; NULL: nothing says that there are
 * several. `index`: what it has in its name then; NULL: nothing. Of 0 members: it is an error with
 * `apart` in it. */
struct default_row {
	const char *what;
	const char *settings[SETTINGS_MOST];
	const char *command[8];
	uint32_t members, found;
	const char *apart, *index;
};

// clang-format off
static const struct default_row default_rows[] = {
	{"nothing", {0}, {"python"}, 1, 0, NULL, NULL},
	{"srun on nodes", {"SLURM_STEP_NUM_NODES=4", "SLURM_STEP_NUM_TASKS=4", "SLURM_NODEID=2"}, {"python"},
		4, 2, NULL, NULL},
	{"srun, several tasks a node",
		{"SLURM_STEP_NUM_NODES=2", "SLURM_STEP_NUM_TASKS=8", "SLURM_NODEID=1", "SLURM_PROCID=5"},
		{"python"}, 1, 0, "SLURM_PROCID says which one this is, but that the 8 of SLURM_STEP_NUM_TASKS", "5"},
	{"srun, several tasks on one node",
		{"SLURM_STEP_NUM_NODES=1", "SLURM_STEP_NUM_TASKS=8", "SLURM_NODEID=0", "SLURM_PROCID=5"},
		{"python"}, 1, 0, "SLURM_STEP_NUM_TASKS is 8, and SLURM_STEP_NUM_NODES says that the job has 1 machine", "5"},
	{"so with PMI2",
		{"SLURM_STEP_NUM_NODES=1", "SLURM_STEP_NUM_TASKS=8", "SLURM_NODEID=0", "SLURM_PROCID=5",
			"PMI_SIZE=8", "PMI_RANK=5"}, {"python"}, 1, 0, "SLURM_STEP_NUM_TASKS is 8", "5"},
	{"PMI2 on nodes",
		{"SLURM_STEP_NUM_NODES=2", "SLURM_STEP_NUM_TASKS=8", "SLURM_NODEID=1", "SLURM_PROCID=5",
			"PMI_SIZE=8", "PMI_RANK=5"}, {"python"}, 1, 0, "SLURM_STEP_NUM_TASKS", "5"},
	{"a batch script", {"SLURM_JOB_NUM_NODES=4", "SLURM_NNODES=4", "SLURM_NODEID=0", "SLURM_PROCID=0"},
		{"srun", "torchrun", "--nnodes=4", "t.py"}, 1, 0, "srun starts the job on all machines", NULL},
	{"torchrun on one machine", {0}, {"torchrun", "--nproc-per-node=8", "t.py"}, 1, 0, NULL, NULL},
	{"torchrun, standalone", {0}, {"torchrun", "--standalone", "--nnodes=1", "t.py"}, 1, 0, NULL, NULL},
	{"torchrun on machines", {0}, {"torchrun", "--nnodes=2", "--node-rank=1", "t.py"}, 2, 1, NULL, NULL},
	{"torchrun, which one?", {0}, {"torchrun", "--nnodes=2", "--rdzv-backend=c10d", "t.py"}, 0, 0,
		"give --member I (from 0), or --gang off", NULL},
	{"torchrun, elastic", {0}, {"torchrun", "--nnodes=1:4", "t.py"}, 0, 0, "1:4", NULL},
	{"torchrun, of a range of one", {0}, {"torchrun", "--nnodes=2:2", "--node-rank=1", "t.py"}, 2, 1, NULL, NULL},
	{"torchrun, one by a range", {0}, {"torchrun", "--nnodes=1:1", "t.py"}, 1, 0, NULL, NULL},
	{"torchrun, elastic, in a step", {"SLURM_STEP_NUM_NODES=1", "SLURM_STEP_NUM_TASKS=2", "SLURM_PROCID=1"},
		{"torchrun", "--nnodes=1:4", "t.py"}, 1, 0, "SLURM_STEP_NUM_TASKS is 2", "1"},
	{"torchrun, elastic, on one machine", {"PET_NNODES=1"}, {"torchrun", "--nnodes=1:4", "t.py"}, 0, 0,
		"--nnodes is 1:4, and PET_NNODES says", NULL},
	{"a script's own", {0}, {"python", "train.py", "--nnodes", "8"}, 1, 0, NULL, NULL},
	{"a program's own", {0}, {"./train", "--nnodes", "8"}, 1, 0, NULL, NULL},
	{"a module's own", {0}, {"python", "-m", "my.train", "--nnodes", "8"}, 1, 0, NULL, NULL},
	{"a script's own, behind torchrun", {0}, {"torchrun", "--nproc-per-node", "8", "t.py", "--nnodes", "8"},
		1, 0, NULL, NULL},
	{"a program's own, behind torchrun", {0}, {"torchrun", "--no-python", "./train", "--nnodes", "8"},
		1, 0, NULL, NULL},
	{"a module's own, behind torchrun", {0}, {"torchrun", "-m", "train", "--nnodes", "8"}, 1, 0, NULL, NULL},
	{"a script's own, behind both", {0},
		{"torchrun", "--nnodes=2", "--node-rank=1", "t.py", "--nnodes", "8"}, 2, 1, NULL, NULL},
	{"torchrun behind another program", {0},
		{"env", "A=b", "python3", "-m", "torch.distributed.run", "--nnodes=2", "--node-rank=1"}, 2, 1, NULL, NULL},
	{"accelerate, of several words", {0},
		{"accelerate", "launch", "--multi_gpu", "--num_machines", "2", "--machine_rank=1", "t.py"},
		2, 1, NULL, NULL},
	{"a rank of torchrun's on one machine",
		{"RANK=5", "WORLD_SIZE=8", "LOCAL_RANK=5", "LOCAL_WORLD_SIZE=8", "TORCHELASTIC_RUN_ID=none"},
		{"python"}, 1, 0, "WORLD_SIZE is 8, and LOCAL_WORLD_SIZE says that the job has 1 machine", "5"},
	{"the same on each machine of a step",
		{"RANK=5", "WORLD_SIZE=8", "LOCAL_RANK=5", "LOCAL_WORLD_SIZE=8", "TORCHELASTIC_RUN_ID=none",
			"SLURM_STEP_NUM_NODES=2", "SLURM_STEP_NUM_TASKS=2", "SLURM_NODEID=1", "SLURM_PROCID=1"},
		{"python"}, 1, 0, "WORLD_SIZE is 8", "5-1"},
	{"one of several machines",
		{"RANK=5", "WORLD_SIZE=8", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=4", "TORCHELASTIC_RUN_ID=none"},
		{"python"}, 8, 5, NULL, NULL},
	{"ranks of one machine, or pods", {"RANK=1", "WORLD_SIZE=4"}, {"python"}, 1, 0, "RANK says", "1"},
	{"one rank", {"RANK=0", "WORLD_SIZE=1"}, {"python"}, 1, 0, NULL, NULL},
	{"mpirun on one machine",
		{"OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_LOCAL_SIZE=4"},
		{"python"}, 1, 0, "OMPI_COMM_WORLD_SIZE is 4", "3"},
	{"mpirun on several",
		{"OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_LOCAL_SIZE=2"},
		{"python"}, 4, 3, NULL, NULL},
	{"mpiexec on one machine", {"PMI_SIZE=4", "PMI_RANK=3", "MPI_LOCALNRANKS=4"}, {"python"}, 1, 0,
		"PMI_SIZE is 4", "3"},
	{"mpiexec on several", {"PMI_SIZE=4", "PMI_RANK=3", "MPI_LOCALNRANKS=2"}, {"python"}, 4, 3, NULL, NULL},
	{"mpiexec, where?", {"PMI_SIZE=4", "PMI_RANK=3"}, {"python"}, 1, 0, "PMI_RANK says", "3"},
	{"an indexed Job of tasks that are apart", {"JOB_COMPLETION_INDEX=3"}, {"python"}, 1, 0, "--gang N", "3"},
	{"the first of them", {"JOB_COMPLETION_INDEX=0"}, {"python"}, 1, 0, "--gang N", "0"},
	{"each of them with two ranks", {"JOB_COMPLETION_INDEX=3", "WORLD_SIZE=2"}, {"python"}, 1, 0,
		"JOB_COMPLETION_INDEX", "3"},
	{"each of them with torchrun", {"JOB_COMPLETION_INDEX=3"},
		{"torchrun", "--nnodes=1", "--node-rank=0", "t.py"}, 1, 0,
		"JOB_COMPLETION_INDEX is 3, and --nnodes says that the job has 1 machine", "3"},
	{"a TrainJob", {"JOB_COMPLETION_INDEX=1", "PET_NNODES=2", "PET_NODE_RANK=1"}, {"torchrun"}, 2, 1, NULL, NULL},
	{"of one machine", {"JOB_COMPLETION_INDEX=0", "PET_NNODES=1", "PET_NODE_RANK=0"}, {"torchrun"},
		1, 0, NULL, NULL},
	{"elastic", {"PET_NNODES=1:4", "PET_NODE_RANK=1"}, {"torchrun"}, 1, 0, "PET_NNODES", "1"},
	{"elastic, which one?", {"PET_NNODES=1:4"}, {"torchrun"}, 0, 0, "give --gang N and --member I; or --gang off", NULL},
	{"Volcano", {"VC_TASK_INDEX=1", "VC_WORKER_NUM=2"}, {"python"}, 1, 0, "VC_TASK_INDEX", "1"},
	{"AWS Batch", {"AWS_BATCH_JOB_NUM_NODES=4", "AWS_BATCH_JOB_NODE_INDEX=2"}, {"python"}, 4, 2, NULL, NULL},
	{"SkyPilot", {"SKYPILOT_NUM_NODES=2", "SKYPILOT_NODE_RANK=1"}, {"python"}, 2, 1, NULL, NULL},
	{"SageMaker", {"SM_HOSTS=[\"algo-1\",\"algo-2\"]", "SM_CURRENT_HOST=algo-2"}, {"python"}, 2, 1, NULL, NULL},
	{"SageMaker on two, with a training on each",
		{"SM_HOSTS=[\"algo-1\",\"algo-2\"]", "SM_CURRENT_HOST=algo-2", "TRAINING_JOB_NAME=t"},
		{"torchrun", "--nnodes=1", "t.py"}, 1, 0, "SM_HOSTS is 2, and --nnodes says that the job has 1", "1"},
	{"SageMaker on one", {"SM_HOSTS=[\"algo-1\"]", "SM_CURRENT_HOST=algo-1"}, {"python"}, 1, 0, NULL, NULL},
	{"two trainings of one machine each in a step",
		{"SLURM_STEP_NUM_NODES=2", "SLURM_STEP_NUM_TASKS=2", "SLURM_NODEID=1"},
		{"torchrun", "--nnodes=1", "t.py"}, 1, 0, "--nnodes says that the job has 1", "1"},
	{"two numbers", {"SLURM_STEP_NUM_NODES=4", "SLURM_NODEID=1"},
		{"torchrun", "--nnodes=2", "--node-rank=1", "t.py"}, 0, 0, "--nnodes says 2", NULL},
	{"two places", {"SLURM_STEP_NUM_NODES=2", "SLURM_NODEID=1"},
		{"torchrun", "--nnodes=2", "--node-rank=0", "t.py"}, 0, 0, "--node-rank says 0", NULL},
	{"two places of a pod", {"JOB_COMPLETION_INDEX=1"}, {"torchrun", "--nnodes=2", "--node-rank=0", "t.py"}, 0, 0,
		"--node-rank says 0", NULL},
	{"beyond", {"PET_NNODES=2", "PET_NODE_RANK=2"}, {"torchrun"}, 0, 0, "only 2", NULL},
	{"tasks of several nodes with a training of several machines each",
		{"SLURM_STEP_NUM_NODES=2", "SLURM_STEP_NUM_TASKS=4", "SLURM_NODEID=1", "SLURM_PROCID=2"},
		{"torchrun", "--nnodes=2", "--node-rank=0", "t.py"}, 1, 0, "SLURM_STEP_NUM_TASKS is 4, and --nnodes says that the job has 2",
		"2-0"},
	{"the first of them",
		{"SLURM_STEP_NUM_NODES=2", "SLURM_STEP_NUM_TASKS=4", "SLURM_NODEID=0", "SLURM_PROCID=0"},
		{"torchrun", "--nnodes=2", "--node-rank=0", "t.py"}, 1, 0, "SLURM_STEP_NUM_TASKS is 4", "0"},
	{"hydra's ranks under Slurm, one a node, whose daemons are in another order",
		{"SLURM_STEP_NUM_NODES=4", "SLURM_STEP_NUM_TASKS=4", "SLURM_NODEID=2", "SLURM_PROCID=2",
			"PMI_SIZE=4", "PMI_RANK=3", "MPI_LOCALNRANKS=1"}, {"python"}, 4, 3, NULL, NULL},
	{"hydra's ranks under Slurm, all on one node",
		{"SLURM_STEP_NUM_NODES=1", "SLURM_STEP_NUM_TASKS=1", "SLURM_NODEID=0", "SLURM_PROCID=0",
			"PMI_SIZE=4", "PMI_RANK=3", "MPI_LOCALNRANKS=4"}, {"python"}, 1, 0, "PMI_SIZE is 4", "3"},
	{"srun with PMI2, one task a node",
		{"SLURM_STEP_NUM_NODES=4", "SLURM_STEP_NUM_TASKS=4", "SLURM_NODEID=2", "SLURM_PROCID=2",
			"PMI_SIZE=4", "PMI_RANK=2"}, {"python"}, 4, 2, NULL, NULL},

	/* One supervisor in front of all machines. */
	{"the main node of AWS Batch", {"AWS_BATCH_JOB_NUM_NODES=4", "AWS_BATCH_JOB_NODE_INDEX=0"},
		{"mpirun", "-np", "32", "python"}, 1, 0, "mpirun starts the job on all machines", NULL},
	{"rank 0 of SkyPilot", {"SKYPILOT_NUM_NODES=2", "SKYPILOT_NODE_RANK=0"},
		{"/usr/bin/env", "A=b", "horovodrun", "-np", "2"}, 1, 0, "horovodrun starts", NULL},
	{"any other of SkyPilot", {"SKYPILOT_NUM_NODES=2", "SKYPILOT_NODE_RANK=1"},
		{"horovodrun", "-H", "localhost:4"}, 1, 0, "horovodrun starts the job on all machines, but", "1"},
	{"ray on each", {"SKYPILOT_NUM_NODES=2", "SKYPILOT_NODE_RANK=1"}, {"ray", "start"}, 1, 0, "ray starts", "1"},
	{"a module, behind env", {"SKYPILOT_NUM_NODES=2", "SKYPILOT_NODE_RANK=0"},
		{"env", "A=b", "python3", "-u", "-m", "deepspeed.launcher.runner"}, 1, 0, "deepspeed.launcher.runner starts",
		NULL},
	{"a value of env's option is no program", {"SKYPILOT_NUM_NODES=2", "SKYPILOT_NODE_RANK=0"},
		{"env", "-u", "FOO", "--chdir", "/work", "mpirun", "python"}, 1, 0, "mpirun starts", NULL},
	{"nor one of python's", {"SKYPILOT_NUM_NODES=2", "SKYPILOT_NODE_RANK=0"},
		{"python3", "-W", "ignore", "-X", "dev", "-m", "deepspeed.launcher.runner"}, 1, 0,
		"deepspeed.launcher.runner starts", NULL},
	{"python's -u has no value", {"SKYPILOT_NUM_NODES=2", "SKYPILOT_NODE_RANK=1"},
		{"python", "-u", "t.py", "mpirun"}, 2, 1, NULL, NULL},
	{"a script of a launcher's name", {"SKYPILOT_NUM_NODES=2", "SKYPILOT_NODE_RANK=1"},
		{"python", "srun.py"}, 2, 1, NULL, NULL},
	{"one that starts on this machine alone", {"SKYPILOT_NUM_NODES=2", "SKYPILOT_NODE_RANK=1"},
		{"deepspeed", "--no_ssh", "t.py"}, 2, 1, NULL, NULL},
	{"a word behind another program", {"SKYPILOT_NUM_NODES=2", "SKYPILOT_NODE_RANK=1"},
		{"./rays", "mpirun", "ray"}, 2, 1, NULL, NULL},
	{"a module that is none", {"SKYPILOT_NUM_NODES=2", "SKYPILOT_NODE_RANK=1"}, {"python", "-m", "ray"}, 2, 1, NULL, NULL},
	{"a main node that is not 0",
		{"AWS_BATCH_JOB_NUM_NODES=4", "AWS_BATCH_JOB_NODE_INDEX=2", "AWS_BATCH_JOB_MAIN_NODE_INDEX=2"},
		{"mpirun", "python"}, 1, 0, "one supervisor stands for all", NULL},
	{"which says of how many", {0}, {"mpirun", "torchrun", "--nnodes=4", "t.py"}, 1, 0, "stands for all", NULL},
	{"a batch script that starts a step", {"SLURM_JOB_NUM_NODES=4"}, {"srun", "python", "t.py"}, 1, 0, NULL, NULL},
	{"the launcher of an MPIJob", {"KUBERNETES_SERVICE_HOST=10.0.0.1"}, {"mpirun", "python"}, 1, 0, NULL, NULL},

	/* Inside the job of another run. */
	{"a run of a member's job",
		{"REPRIEVE_ATTEMPT=3", "SLURM_STEP_NUM_NODES=4", "SLURM_STEP_NUM_TASKS=4", "SLURM_NODEID=2"},
		{"python"}, 1, 0, "inside attempt 3 of another one, and what SLURM_STEP_NUM_NODES", "2"},
	{"in front of all machines", {"REPRIEVE_ATTEMPT=3", "SKYPILOT_NUM_NODES=2", "SKYPILOT_NODE_RANK=0"},
		{"mpirun", "python"}, 1, 0, "inside attempt 3", NULL},
	{"of a job of one machine", {"REPRIEVE_ATTEMPT=3"}, {"python"}, 1, 0, NULL, NULL},
	{"of one that says why it is no gang", {"REPRIEVE_ATTEMPT=3", "JOB_COMPLETION_INDEX=3"}, {"python"},
		1, 0, "inside attempt 3", "3"},
	{"what it was told is no option", {"REPRIEVE_ATTEMPT=3", "REPRIEVE_MACHINES=4", "REPRIEVE_MACHINE=1"},
		{"python"}, 1, 0, NULL, NULL},
	{"two places are the outer one's", {"REPRIEVE_ATTEMPT=3", "SLURM_STEP_NUM_NODES=2", "SLURM_NODEID=1"},
		{"torchrun", "--nnodes=2", "--node-rank=0", "t.py"}, 1, 0, "inside attempt 3", "1-0"},
	{"a batch job that a job has submitted",
		{"REPRIEVE_ATTEMPT=3", "REPRIEVE_OUTER_SLURM_JOB_ID=6", "SLURM_JOB_ID=7", "SLURM_STEP_NUM_NODES=4",
			"SLURM_NODEID=2"}, {"python"}, 4, 2, NULL, NULL},
};
// clang-format on

static void test_by_default(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(default_rows) / sizeof(default_rows[0]); i++) {
		const struct default_row *row = &default_rows[i];
		struct identity_row settings = {0};
		struct gang_identity identity;
		struct err err = {0};
		int result;

		memcpy(settings.settings, row->settings, sizeof(settings.settings));
		result = gang_identity_find(NULL, NULL, setting, &settings, row->command, &identity,
					    &err);
		if ((result < 0) != (row->members == 0))
			fail_msg("%s: %s", row->what, result < 0 ? err.text : "no error");
		if (result < 0) {
			if (err.kind != ERR_UNFIT || !strstr(err.text, row->apart))
				fail_msg("%s: %s", row->what, err.text);
			continue;
		}
		if (identity.members != row->members || identity.member != row->found ||
		    identity.by_default != (row->members > 1))
			fail_msg("%s: %u of %u", row->what, identity.member, identity.members);
		if (row->apart ? !strstr(identity.apart, row->apart) : identity.apart[0] != '\0')
			fail_msg("%s: apart \"%s\"", row->what, identity.apart);
		/* Of a gang it is what it would be without one. */
		if (row->members == 1 && strcmp(identity.index, row->index ? row->index : "") != 0)
			fail_msg("%s: index \"%s\"", row->what, identity.index);
		assert_int_equal(gang_identity_find("off", NULL, setting, &settings, row->command,
						    &identity, &err),
				 0);
		assert_int_equal(identity.members, 1);
		assert_string_equal(identity.index, "");
	}
}

/* What tells the members apart is not in the command that an attempt records. */
static void test_blank(void **state)
{
	json_t *command = json_pack("[s, s, s, s, s]", "torchrun", "--node-rank", "3",
				    "--machine_rank=2", "train.py");
	json_t *wanted = json_pack("[s, s, s, s, s]", "torchrun", "--node-rank", "*",
				   "--machine_rank=*", "train.py");

	(void)state;
	gang_identity_blank(command);
	assert_true(json_equal(command, wanted));
	json_decref(command);
	json_decref(wanted);
}

struct launch_row {
	const char *what, *gang, *member;
	const char *settings[SETTINGS_MOST];
	const char *launch;
	bool whole;
	/* Which member it is nobody can know; of which start it is is known all the same. */
	bool fails;
};

// clang-format off
static const struct launch_row launch_rows[] = {
	{"by hand", "2", "1", {"SLURM_JOB_ID=7"}, "", false, false},
	{"named by hand", "2", "1", {"SLURM_JOB_ID=7", "REPRIEVE_LAUNCH=monday"}, "monday", false, false},
	{"srun", "auto", NULL,
		{"SLURM_JOB_ID=7", "SLURM_STEP_ID=2", "SLURM_STEP_NUM_NODES=2", "SLURM_NODEID=1"},
		"7/2/0", true, false},
	{"srun in a job that was requeued", "auto", NULL,
		{"SLURM_JOB_ID=7", "SLURM_STEP_ID=2", "SLURM_STEP_NUM_NODES=2", "SLURM_NODEID=1",
		 "SLURM_RESTART_COUNT=3"},
		"7/2/3", true, false},
	{"a node of a job of AWS Batch", "auto", NULL,
		{"AWS_BATCH_JOB_ID=ab-12#1", "AWS_BATCH_JOB_ATTEMPT=2", "AWS_BATCH_JOB_NUM_NODES=2",
		 "AWS_BATCH_JOB_NODE_INDEX=1"},
		"ab-12/2", true, false},
	{"SkyPilot", "auto", NULL,
		{"SKYPILOT_TASK_ID=sky-1", "SKYPILOT_NUM_NODES=2", "SKYPILOT_NODE_RANK=1"},
		"sky-1", false, false},
	{"an indexed job", "auto", NULL, {"JOB_COMPLETION_INDEX=1", "PET_NNODES=2"}, "", false, false},
	{"two numbers", "auto", NULL,
		{"SLURM_JOB_ID=7", "SLURM_STEP_ID=2", "SLURM_STEP_NUM_NODES=3", "SLURM_NODEID=1",
		 "PET_NNODES=4"},
		"7/2/0", true, true},
	{"two numbers, and nobody has asked", NULL, NULL,
		{"SLURM_JOB_ID=7", "SLURM_STEP_ID=2", "SLURM_STEP_NUM_NODES=3", "SLURM_NODEID=1",
		 "PET_NNODES=4"},
		"7/2/0", true, true},
	{"another number than by hand", "4", NULL,
		{"SLURM_JOB_ID=7", "SLURM_STEP_ID=2", "SLURM_STEP_NUM_NODES=3", "SLURM_NODEID=1"},
		"7/2/0", true, true},
	{"beyond, in a named one", "auto", NULL,
		{"PET_NNODES=3", "PET_NODE_RANK=3", "REPRIEVE_LAUNCH=monday"}, "monday", false, true},
	{"beyond, by hand", "3", "5", {"SLURM_JOB_ID=7", "SLURM_STEP_ID=2"}, "", false, true},
	{"beyond", "auto", NULL, {"PET_NNODES=3", "PET_NODE_RANK=3"}, "", false, true},
};
// clang-format on

/* What tells two starts of the launcher apart, the same on all machines. */
static void test_launch(void **state)
{
	static const char *const command[] = {"python", NULL};

	(void)state;
	for (size_t i = 0; i < sizeof(launch_rows) / sizeof(launch_rows[0]); i++) {
		const struct launch_row *row = &launch_rows[i];
		struct identity_row settings = {0};
		struct gang_identity identity;
		struct err err = {0};

		memcpy(settings.settings, row->settings, sizeof(settings.settings));
		assert_int_equal(gang_identity_find(row->gang, row->member, setting, &settings,
						    command, &identity, &err),
				 row->fails ? -1 : 0);
		if (strcmp(identity.launch, row->launch) != 0 || identity.whole != row->whole)
			fail_msg("%s: %s", row->what, identity.launch);
	}
}

/* Whoever asks for a gang gets one, in front of all machines and inside another run too. */
static void test_asked_for(void **state)
{
	static const char *const ways[][2] = {{"auto", NULL}, {"2", NULL}, {"2", "1"}, {NULL, "1"}};
	static const char *const command[] = {"mpirun", "python", NULL};
	struct identity_row settings = {
		.settings = {"REPRIEVE_ATTEMPT=3", "SKYPILOT_NUM_NODES=2", "SKYPILOT_NODE_RANK=1"}};

	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct gang_identity identity;
		struct err err = {0};

		assert_int_equal(gang_identity_find(ways[i][0], ways[i][1], setting, &settings,
						    command, &identity, &err),
				 0);
		assert_int_equal(identity.members, 2);
		assert_int_equal(identity.member, 1);
		assert_false(identity.by_default);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),      cmocka_unit_test(test_by_default),
		cmocka_unit_test(test_blank),     cmocka_unit_test(test_launch),
		cmocka_unit_test(test_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
