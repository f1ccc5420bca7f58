/*
 * The table of frameworks. Its facts were read in their sources or measured; members called "note"
 * are for the user. Versions: Lightning 2.6, transformers 5, Megatron-LM, DeepSpeed, Orbax,
 * TensorFlow, Keras 3, submitit 1.5, as of summer 2026.
 */
#include "profile.h"

#include <signal.h>

// clang-format off
/* It ends after the save, as far as the script itself handles the signal. */
#define SCRIPT_HANDLES_SIGTERM \
	.ask = PROFILE_ASK_SIGNAL, .signal = SIGTERM, .whom = PROFILE_TARGET_ALL, \
	.after = PROFILE_AFTER_ENDS, .script_handles = true
/* All else is up to the script too. */
#define ANY_SCRIPT \
	SCRIPT_HANDLES_SIGTERM, .ask_note = "the script must handle the signal", \
	.resume_note = "the script loads its newest checkpoint", .resume_codes = {143}

const struct profile profile_rows[] = {
	{
		.name = "submitit", .title = "submitit functions with a checkpoint() method",
		.words = {"submitit.core._submit"},
		.ask = PROFILE_ASK_SIGNAL, .signal = SIGUSR2, .whom = PROFILE_TARGET_RANK_0,
		.after = PROFILE_AFTER_ENDS,
		.ask_note = "the function needs a checkpoint() method; submitit calls it inside "
			"its handler, on rank 0",
		.completion_note = "its pickles are renamed into place; the function's own files "
			"count when they are still",
		.temporary = {"*.save_tmp"},
		.resume_note = "checkpoint() returns what is to be submitted again",
		/* 144 comes from its local executor, which would submit again. */
		.resume_codes = {255, 144, 143},
	},
	{
		.name = "megatron", .also = {"megatron-lm"}, .title = "Megatron-LM",
		.words = {"--exit-signal-handler", "pretrain_gpt.py", "pretrain_bert.py",
			"pretrain_t5.py"},
		.imports = {"megatron"},
		.files = {"latest_checkpointed_iteration.txt"},
		.ask = PROFILE_ASK_SIGNAL, .signal = SIGTERM, .whom = PROFILE_TARGET_ANY,
		.after = PROFILE_AFTER_ENDS,
		.enables = {"--exit-signal-handler", "exit_signal_handler"},
		.ask_note = "needs --exit-signal-handler; all ranks agree at the end of the "
			"iteration",
		.completion_markers = {"latest_checkpointed_iteration.txt"},
		.completion_note = "latest_checkpointed_iteration.txt is written last",
		.rules = {
			{PROFILE_RULE_POINTER, true, "iter_*", NULL,
				"latest_checkpointed_iteration.txt", true},
			{PROFILE_RULE_NEEDS, true, NULL, "*.distcp", ".metadata", true},
		},
		.temporary = {".metadata.tmp"},
		.resume_note = "--load with the directory of --save",
		.resume_codes = {1, 143}, .zero_is_asked = true,
	},
	{
		.name = "hf", .also = {"huggingface"}, .title = "Hugging Face Trainer",
		.imports = {"transformers", "trl"}, .with = {"Trainer", "TrainingArguments"},
		.texts = {"enable_jit_checkpoint"},
		.files = {"checkpoint-is-incomplete.txt"},
		.ask = PROFILE_ASK_SIGNAL, .signal = SIGTERM, .whom = PROFILE_TARGET_ALL,
		.after = PROFILE_AFTER_ENDS, .patience_ms = 3000,
		.enables = {"enable_jit_checkpoint"},
		.ask_note = "needs TrainingArguments(enable_jit_checkpoint=True); it waits 3 s, "
			"and then saves between a step's forward pass and its update",
		.completion_markers = {"trainer_state.json"},
		.completion_note = "trainer_state.json is written last, and "
			"checkpoint-is-incomplete.txt removed where there was one",
		.rules = {
			{PROFILE_RULE_FORBIDS, true, "checkpoint-*", NULL,
				"checkpoint-is-incomplete.txt", false},
			{PROFILE_RULE_NEEDS, false, "checkpoint-*", NULL, "trainer_state.json",
				true},
		},
		.temporary = {"tmp-checkpoint-*"}, .by_rank = {"rng_state_*.pth"},
		.resume_note = "trainer.train(resume_from_checkpoint=True), which takes the "
			"highest number; the first start has none and must not say so",
		.resume_codes = {1, 143}, .zero_is_asked = true,
	},
	{
		.name = "lightning", .also = {"pytorch-lightning"}, .title = "PyTorch Lightning",
		.imports = {"lightning", "pytorch_lightning", "litgpt"},
		.ask = PROFILE_ASK_SIGNAL, .signal = SIGTERM, .whom = PROFILE_TARGET_RANK_0,
		.after = PROFILE_AFTER_ENDS,
		.ends_unsaved = true,
		.enables = {"OnExceptionCheckpoint", "save_on_exception"},
		.ask_note = "needs ModelCheckpoint(save_on_exception=True) or "
			"OnExceptionCheckpoint; saves after the batch, and ends",
		.completion_markers = {"*.ckpt"},
		.completion_note = "each .ckpt is written elsewhere and renamed into place",
		.resume_note = "trainer.fit(ckpt_path=...): \"last\" with "
			"ModelCheckpoint(save_last=True), or the file of OnExceptionCheckpoint",
		.lightning_slurm = true, .local_tmpdir = true,
		.resume_codes = {143, 1}, .zero_is_asked = true,
	},
	{
		.name = "composer", .also = {"mosaicml"}, .title = "MosaicML Composer",
		.imports = {"composer"},
		.ask = PROFILE_ASK_NONE, .ends_unsaved = true,
		.ask_note = "SIGTERM ends it with 143 and no checkpoint",
		.completion_note = "the symbolic link latest-rankN.pt is made anew",
		.resume_note = "Trainer(autoresume=True, run_name=..., save_folder=...)",
		.resume_codes = {143},
	},
	{
		.name = "deepspeed", .title = "DeepSpeed",
		.words = {"deepspeed", "--deepspeed", "--deepspeed_config"},
		.imports = {"deepspeed"},
		.files = {"zero_to_fp32.py"},
		.ask = PROFILE_ASK_NONE, .whom = PROFILE_TARGET_ALL,
		.ask_note = "the engine handles no signal, and save_checkpoint() needs all ranks",
		.completion_markers = {"latest"},
		.completion_note = "rank 0 writes `latest` last",
		.rules = {
			{PROFILE_RULE_POINTER, false, "global_step*", NULL, "latest", true},
		},
		.resume_note = "engine.load_checkpoint(dir), which reads `latest`",
		.resume_codes = {1, 143},
	},
	{
		.name = "accelerate", .title = "Hugging Face Accelerate",
		.words = {"accelerate", "accelerate.commands.launch"}, .imports = {"accelerate"},
		.ask = PROFILE_ASK_NONE,
		.ask_note = "it handles no signal",
		.completion_markers = {"random_states_0.pkl"},
		.completion_note = "random_states_N.pkl is written last by rank N",
		.rules = {
			{PROFILE_RULE_NEEDS, false, "checkpoint_*", "optimizer*.bin",
				"random_states_*.pkl", false},
		},
		.by_rank = {"random_states_*.pkl"},
		.resume_note = "accelerator.load_state(dir)",
		.resume_codes = {1, 143},
	},
	{
		.name = "orbax", .also = {"jax", "flax"}, .title = "JAX with Orbax",
		.imports = {"orbax"},
		.files = {"*.orbax-checkpoint-tmp*", "_CHECKPOINT_METADATA"},
		.ask = PROFILE_ASK_SIGNAL, .signal = SIGTERM, .whom = PROFILE_TARGET_ANY,
		.after = PROFILE_AFTER_CONTINUES,
		.enables = {"jax.distributed.initialize", "reached_preemption"},
		.ask_note = "needs jax.distributed.initialize() and save() called at each step; it "
			"saves at a step that all hosts share",
		.completion_note = "a directory STEP.orbax-checkpoint-tmp* is renamed to STEP",
		.temporary = {"*.orbax-checkpoint-tmp*"},
		.resharded = {"_CHECKPOINT_METADATA", "_METADATA"},
		.resume_note = "manager.restore(manager.latest_step())",
		.resume_codes = {143},
	},
	{
		.name = "keras", .title = "Keras with BackupAndRestore",
		.imports = {"keras"}, .texts = {"BackupAndRestore"},
		.files = {"latest.weights.h5"},
		.ask = PROFILE_ASK_NONE,
		.ask_note = "BackupAndRestore handles no signal; use save_freq",
		.completion_markers = {"training_metadata.json"},
		.completion_note = "training_metadata.json is written after latest.weights.h5",
		.rules = {
			{PROFILE_RULE_NEEDS, true, NULL, "latest.weights.h5",
				"training_metadata.json", false},
			{PROFILE_RULE_NEEDS, false, NULL,
				"training_metadata.json", "latest.weights.h5", false},
		},
		.resume_note = "the same BackupAndRestore(backup_dir=...) in fit()",
		.resume_codes = {143},
	},
	{
		.name = "tf", .title = "TensorFlow CheckpointManager",
		.imports = {"tensorflow"},
		.files = {"*.data-[0-9]*-of-[0-9]*"},
		.ask = PROFILE_ASK_SIGNAL, .signal = SIGTERM, .whom = PROFILE_TARGET_ANY,
		.after = PROFILE_AFTER_ENDS,
		.enables = {"PreemptionCheckpointHandler"},
		.ask_note = "needs PreemptionCheckpointHandler",
		.completion_markers = {"checkpoint"},
		.completion_note = "the text file `checkpoint` is renamed into place last",
		.temporary = {"*.tempstate*", "*_temp", "checkpoint.tmp*"},
		.resume_note = "checkpoint.restore(manager.latest_checkpoint)",
		.resume_codes = {42, 143},
	},
	{
		.name = "xgboost", .title = "XGBoost with TrainingCheckPoint",
		.imports = {"xgboost"},
		.ask = PROFILE_ASK_NONE,
		.ask_note = "it handles no signal; use TrainingCheckPoint(interval=...)",
		.completion_markers = {"*.ubj"},
		.completion_note = "NAME_N.ubj is written in place, and ends as UBJSON does",
		.resume_note = "xgboost.train(xgb_model=the newest NAME_N.ubj)",
		.resume_codes = {143},
	},
	{
		.name = "dcp", .title = "PyTorch Distributed Checkpoint",
		.imports = {"torch.distributed.checkpoint", "torchtitan"},
		.texts = {"torch.distributed.checkpoint"},
		.files = {"*.distcp"},
		SCRIPT_HANDLES_SIGTERM,
		.ask_note = "the script must handle the signal on every rank: a save is collective",
		.completion_note = ".metadata is renamed into place last",
		.rules = {
			{PROFILE_RULE_NEEDS, true, NULL, "*.distcp", ".metadata", true},
		},
		.temporary = {".metadata.tmp"}, .resharded = {".metadata"},
		.resume_note = "dcp.load() from the directory",
		.resume_codes = {1, 143},
	},
	{
		.name = "torchrun", .title = "a PyTorch script under torchrun",
		.words = {"torchrun", "torch.distributed.run", "torch.distributed.launch"},
		SCRIPT_HANDLES_SIGTERM,
		.ask_note = "the script must handle the signal; the ranks get it, never the agent",
		.completion_note = "each file by its zip end record",
		.resume_note = "the script loads its newest checkpoint",
		.resume_codes = {1, 143},
	},
	{
		.name = "mrbayes", .title = "MrBayes",
		.programs = {"mb", "mb-mpi"},
		.ask = PROFILE_ASK_NONE, .ends_unsaved = true, .ends_by_kill = true,
		.ask_note = "at SIGTERM it asks its user a question and waits for the answer; use "
			"mcmcp checkfreq",
		.completion_note = "FILE.ckp is renamed to FILE.ckp~ and written anew",
		.resume_note = "mcmc append=yes, where there is a FILE.ckp",
		.resume_codes = {137},
	},
	{
		.name = "john", .title = "John the Ripper",
		.programs = {"john"},
		.ask = PROFILE_ASK_SIGNAL, .signal = SIGTERM, .whom = PROFILE_TARGET_ALL,
		.after = PROFILE_AFTER_ENDS,
		.ask_note = "it writes its session and ends with 1",
		.completion_note = "SESSION.rec is never closed, and is written over in place: it "
			"is taken as --running '*.rec' says",
		.running = {"*.rec"},
		.resume_note = "john --restore=SESSION",
		.resume_codes = {1},
	},
	{
		.name = "safetensors", .title = "safetensors files",
		.imports = {"safetensors"},
		.files = {"*.safetensors"},
		.only_format = true,
		ANY_SCRIPT,
		.completion_note = "each file by the length that its header says",
		.temporary = {".tmp??????"},
	},
	{
		.name = "hdf5", .title = "HDF5 files",
		.imports = {"h5py", "tables"},
		.only_format = true,
		ANY_SCRIPT,
		.completion_note = "each file by the end that its superblock says",
	},
	{
		.name = "torch", .also = {"pytorch"}, .title = "a PyTorch script with torch.save",
		.imports = {"torch"},
		.files = {"*.pt", "*.pth"},
		ANY_SCRIPT,
		.completion_note = "each file by its zip end record",
	},
	{
		.name = "numpy", .title = "NumPy files",
		.imports = {"numpy"},
		.files = {"*.npz", "*.npy"},
		.only_format = true,
		ANY_SCRIPT,
		.completion_note = "each file by the length that its header says, or its zip end "
			"record",
	},
	{
		.name = "files", .title = "any files",
		.only_format = true,
		SCRIPT_HANDLES_SIGTERM,
		.ask_note = "the job must handle the signal",
		.completion_note = "closed or renamed, still for the quiet time, and whole by "
			"content where the format is known",
		.resume_note = "the job loads its newest checkpoint",
		.resume_codes = {143},
	},
};
// clang-format on

const size_t profile_count = sizeof(profile_rows) / sizeof(profile_rows[0]);
