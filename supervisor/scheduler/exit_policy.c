#include "exit_policy.h"

#include "base/text.h"

#include <stdlib.h>

/* What each scheduler reads comes from its own documentation or source, named beside it. */
// clang-format off
const struct exit_policy exit_policy_table[] = {
	{
		.name = "posix", .title = "anything that looks at exit codes",
		.why = "Codes of sysexits(3): 75 is EX_TEMPFAIL (run it again), 74 EX_IOERR.",
		.setup =
			"until reprieve run -- python3 train.py; do\n"
			"  code=$?\n"
			"  case $code in 74|75) sleep 5 ;; *) exit $code ;; esac\n"
			"done\n",
	},
	/* kubernetes.io/docs/concepts/workloads/controllers/job, "Pod failure policy" */
	{
		.name = "k8s", .title = "Kubernetes Job",
		.why = "Rules are read in their order, the first that fits decides; Ignore: the "
			"pod is made again and backoffLimit is not touched. It needs "
			"restartPolicy: Never.",
		.setup =
		"spec:\n"
		"  backoffLimit: 3\n"
		"  podFailurePolicy:\n"
		"    rules:\n"
		"    - action: Ignore        # preempted: run it again, uncounted\n"
		"      onExitCodes: {containerName: job, operator: In, values: [74, 75]}\n"
		"    - action: FailJob       # another start would not help\n"
		"      onExitCodes: {containerName: job, operator: In, values: [64, 78, 93, 126, "
			"127]}\n"
		"    - action: Ignore        # the pod was taken away before it could say "
			"anything\n"
		"      onPodConditions: [{type: DisruptionTarget, status: \"True\"}]\n"
		"  template:\n"
		"    spec:\n"
		"      restartPolicy: Never\n",
	},
	/* training-operator: IsRetryableExitCode() in pkg/util/train (older: only 130, 137, 138,
	 * 143; newer: all from 128 on) */
	{
		.name = "kubeflow", .title = "Kubeflow training operator, restartPolicy: ExitCode",
		.preempted = 143, .not_durable = 138,
		.why = "1 to 127 are permanent, 128 and more are tried again; older versions only "
			"know 130, 137, 138 and 143 as such. So 143 stands for 75 and 138 for 74.",
		.setup =
		"spec:\n"
		"  pytorchReplicaSpecs:\n"
		"    Master:\n"
		"      restartPolicy: ExitCode\n"
		"      template:\n"
		"        spec:\n"
		"          containers:\n"
		"          - name: pytorch\n"
		"            env:\n"
		"            - {name: REPRIEVE_EXIT_POLICY, value: kubeflow}   # 75 becomes 143, "
			"74 becomes 138\n",
	},
	/* jobset.sigs.k8s.io, API reference: failurePolicy.rules; `status` is
	 * required in its pod conditions */
	{
		.name = "jobset", .title = "JobSet",
		.why = "A Job that failed by its podFailurePolicy fails for the reason "
			"PodFailurePolicy; the JobSet then restarts all its Jobs, since ranks "
			"cannot go on alone.",
		.setup =
		"spec:\n"
		"  failurePolicy:\n"
		"    maxRestarts: 3\n"
		"    rules:\n"
		"    - name: preempted\n"
		"      action: RestartJobSetAndIgnoreMaxRestarts\n"
		"      onJobFailureReasons: [PodFailurePolicy]\n"
		"  replicatedJobs:\n"
		"  - name: workers\n"
		"    template:\n"
		"      spec:\n"
		"        backoffLimit: 0\n"
		"        podFailurePolicy:\n"
		"          rules:\n"
		"          - action: FailJob   # makes the reason PodFailurePolicy, which the rule "
			"above restarts, uncounted\n"
		"            onExitCodes: {containerName: job, operator: In, values: [74, 75]}\n"
		"          - action: FailJob\n"
		"            onPodConditions: [{type: DisruptionTarget, status: \"True\"}]\n"
		"        template:\n"
		"          spec:\n"
		"            restartPolicy: Never\n",
	},
	/* slurm.conf(5): RequeueExit, RequeueExitHold */
	{
		.name = "slurm", .title = "Slurm",
		.why = "Every code but 0 is FAILED. Reprieve asks scontrol to requeue what was "
			"preempted (--requeue); where there is no scontrol, slurm.conf has to list "
			"the code.",
		.setup =
			"# slurm.conf, where the administrator agrees; else as in examples/slurm/\n"
			"RequeueExit=74,75\n"
			"RequeueExitHold=78,93\n"
			"\n"
			"# batch script, of which the training is the last line\n"
			"#SBATCH --requeue --open-mode=append --signal=B:TERM@120\n"
			"exec reprieve run --store URL --grace 110 -- python3 train.py\n"
			"\n"
			"# batch script that goes on behind it: no B:, which would end its shell\n"
			"#SBATCH --requeue --open-mode=append --signal=TERM@120\n"
			"srun reprieve run --store URL --grace 110 -- python3 train.py || exit $?\n"
			"python3 evaluate.py\n",
	},
	/* docs.skypilot.co, managed jobs: job_recovery.recover_on_exit_codes */
	{
		.name = "skypilot", .title = "SkyPilot managed jobs",
		.why = "A machine that is gone is recovered by itself; a command that ended is a "
			"failure, unless its code is listed. 137 does not count.",
		.setup =
			"resources:\n"
			"  use_spot: true\n"
			"  job_recovery:\n"
			"    recover_on_exit_codes: [74, 75]\n"
			"    max_restarts_on_errors: 3\n",
	},
	/* docs.aws.amazon.com/batch, RetryStrategy and EvaluateOnExit: five rules at most, 1 to 10
	 * attempts, no match is a retry */
	{
		.name = "aws-batch", .title = "AWS Batch",
		.why = "The first of at most five rules that fits decides; a job without a fitting "
			"rule is tried again, so the last rule ends it.",
		.setup =
			"\"retryStrategy\": {\n"
			"  \"attempts\": 10,\n"
			"  \"evaluateOnExit\": [\n"
			"    {\"onStatusReason\": \"Host EC2*\", \"action\": \"RETRY\"},\n"
			"    {\"onExitCode\": \"75\", \"action\": \"RETRY\"},\n"
			"    {\"onExitCode\": \"74\", \"action\": \"RETRY\"},\n"
			"    {\"onReason\": \"*\", \"action\": \"EXIT\"}\n"
			"  ]\n"
			"}\n",
	},
	/* docs.aws.amazon.com/AmazonECS: stopTimeout, and Fargate Spot's warning;
	 * docs.aws.amazon.com/step-functions: runTask.sync fails at a code but 0 */
	{
		.name = "ecs", .title = "Amazon ECS, also on Fargate Spot",
		.why = "ECS acts on no code: a service starts every task again, also one that has "
			"finished, and run-task none. So Step Functions runs the task, whose code "
			"fails the state unless it is 0, and tries it again. Fargate Spot sends "
			"SIGTERM 2 min ahead, of which a container gets its stopTimeout: 30 s "
			"unless given, 120 s at most.",
		.setup =
		"# task definition\n"
		"\"containerDefinitions\": [{\n"
		"  \"name\": \"job\", \"stopTimeout\": 120,\n"
		"  \"environment\": [{\"name\": \"REPRIEVE_GRACE\", \"value\": \"110\"},\n"
		"                  {\"name\": \"REPRIEVE_JOB\", \"value\": \"digits\"},\n"
		"                  {\"name\": \"REPRIEVE_STORE\", \"value\": "
			"\"s3://bucket/runs\"},\n"
		"                  {\"name\": \"REPRIEVE_MAX_NO_PROGRESS\", \"value\": \"3\"}]\n"
		"}]\n"
		"\n"
		"# state machine: 74, 75 and all other codes but 0\n"
		"\"Train\": {\n"
		"  \"Type\": \"Task\", \"Resource\": \"arn:aws:states:::ecs:runTask.sync\",\n"
		"  \"Parameters\": {\"Cluster\": \"...\", \"TaskDefinition\": \"...\"},\n"
		"  \"Retry\": [{\"ErrorEquals\": [\"States.TaskFailed\"], \"IntervalSeconds\": "
			"10,\n"
		"             \"BackoffRate\": 1.0, \"MaxAttempts\": 20}],\n"
		"  \"End\": true\n"
		"}\n",
	},
	/* cloud.google.com/batch/docs/automate-task-retries: 50001 is the preemption of a spot
	 * VM; 0 to 10 retries */
	{
		.name = "gcp-batch", .title = "Google Cloud Batch",
		.why = "With a RETRY_TASK policy, what matches none of its codes fails. Codes from "
			"50000 on are its own; 50001 is a spot VM that was taken.",
		.setup =
		"\"taskSpec\": {\n"
		"  \"maxRetryCount\": 10,\n"
		"  \"lifecyclePolicies\": [\n"
		"    {\"action\": \"RETRY_TASK\", \"actionCondition\": {\"exitCodes\": [50001, 74, "
			"75]}}\n"
		"  ]\n"
		"}\n",
	},
	/* flyteorg/flyte issue 8067: 137 and 247 are read as an interruption, 143
	 * as the user's error */
	{
		.name = "flyte", .title = "Flyte, interruptible tasks",
		.preempted = 247, .not_durable = 137,
		.why = "137 and 247 are an interruption and go to the system's retries; every "
			"other code, 143 too, is the user's error. So 247 stands for 75 and 137 "
			"for 74.",
		.setup =
		"@task(interruptible=True, retries=3,\n"
		"      environment={\"REPRIEVE_EXIT_POLICY\": \"flyte\"})   # 75 becomes 247, 74 "
			"becomes 137\n"
		"def train() -> None: ...\n",
	},
	/* docs.aws.amazon.com/sagemaker, managed spot training; the training
	 * toolkit's contract of /opt/ml */
	{
		.name = "sagemaker", .title = "SageMaker managed spot training",
		.why = "It starts the job again by itself after an interruption (SIGTERM, then 120 "
			"s), whatever the code; a code but 0 at any other time is a failure, whose "
			"reason is the first KiB of /opt/ml/output/failure.",
		.setup =
		"Estimator(..., use_spot_instances=True, max_wait=..., max_run=...,\n"
		"          checkpoint_s3_uri=\"s3://bucket/checkpoints\",   # or: REPRIEVE_STORE, "
			"and this unset\n"
		"          environment={\"REPRIEVE_EXIT_POLICY\": \"sagemaker\", "
			"\"REPRIEVE_GRACE\": \"110\",\n"
		"                       \"REPRIEVE_STORE\": \"s3://bucket/runs\"})   # 74 and 75 "
			"stay\n",
	},
	/* systemd.service(5), systemd.kill(5) */
	{
		.name = "systemd", .title = "a systemd unit",
		.why = "RestartForceExitStatus starts it again after these codes, "
			"RestartPreventExitStatus never after those. KillMode=mixed sends SIGTERM "
			"to Reprieve alone.",
		.setup =
		"[Unit]\n"
		"StartLimitIntervalSec=0\n"
		"\n"
		"[Service]\n"
		"ExecStart=/usr/local/bin/reprieve run --store s3://bucket/runs --job digits "
			"--grace 100 --max-no-progress 10 -- python3 train.py\n"
		"KillMode=mixed\n"
		"TimeoutStopSec=110\n"
		"Restart=on-failure\n"
		"RestartSec=5\n"
		"RestartForceExitStatus=74 75\n"
		"RestartPreventExitStatus=64 78 93 126 127\n",
	},
};
// clang-format on

const size_t exit_policy_count = sizeof(exit_policy_table) / sizeof(exit_policy_table[0]);

const struct exit_policy *exit_policy_find(const char *name)
{
	for (size_t i = 0; i < exit_policy_count; i++)
		if (text_equal(exit_policy_table[i].name, name))
			return &exit_policy_table[i];
	return NULL;
}

int exit_policy_code(const struct exit_policy *policy, const struct outcome *outcome)
{
	if (!policy)
		return outcome->exit_code;
	if (outcome->kind == OUTCOME_PREEMPTED && policy->preempted)
		return policy->preempted;
	if (outcome->kind == OUTCOME_NOT_DURABLE && policy->not_durable)
		return policy->not_durable;
	return outcome->exit_code;
}

char *exit_policy_names(void)
{
	char *names = text_copy(exit_policy_table[0].name);

	for (size_t i = 1; i < exit_policy_count; i++) {
		char *longer = text_format("%s, %s", names, exit_policy_table[i].name);

		free(names);
		names = longer;
	}
	return names;
}
