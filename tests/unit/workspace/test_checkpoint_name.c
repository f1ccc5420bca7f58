#include "workspace/checkpoint_name.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <string.h>

#include "unit.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

struct row {
	const char *path;
	int64_t number;
	bool certain;
	const char *unit; /* the numbered directory */
	const char *template;
};

/* A word says that the number counts. */
static const struct row counted[] = {
	{"step_120.npz", 120, true, "", "step_#.npz"},
	{"step-000120.pt", 120, true, "", "step-#.pt"},
	{"Step120.pt", 120, true, "", "Step#.pt"},
	{"GlobalStep=7.bin", 7, true, "", "GlobalStep=#.bin"},
	{"model.step5.pt", 5, true, "", "model.step#.pt"},
	{"step9.r0", 9, true, "", "step#.r0"},
	{"epoch=3-step=1200.ckpt", 1200, true, "", "epoch=#-step=#.ckpt"},
	{"epoch=3-step=1200-v1.ckpt", 1200, true, "", "epoch=#-step=#-v1.ckpt"},
	{"epoch=3-val_loss=0.8312.ckpt", 3, true, "", "epoch=#-val_loss=#.ckpt"},
	{"epoch=3-train_loss_epoch=0.83.ckpt", 3, true, "", "epoch=#-train_loss_epoch=#.ckpt"},
	{"epoch=3-train_loss_step=0.83.ckpt", 3, true, "", "epoch=#-train_loss_step=#.ckpt"},
	{"epoch=03-acc=87.ckpt", 3, true, "", "epoch=#-acc=#.ckpt"},
	{"epoch4.pt", 4, true, "", "epoch#.pt"},
	{"epoch_12.pth", 12, true, "", "epoch_#.pth"},
	{"iter_1000.pth", 1000, true, "", "iter_#.pth"},
	{"ckpt-7.index", 7, true, "", "ckpt-#.index"},
	{"ckpt-7.data-00000-of-00001", 7, true, "", "ckpt-#.data-00000-of-00001"},
	{"model.ckpt-120.meta", 120, true, "", "model.ckpt-#.meta"},
	{"checkpoint_60.msgpack", 60, true, "", "checkpoint_#.msgpack"},
	{"checkpoint12.pt", 12, true, "", "checkpoint#.pt"},
	{"checkpoint-4.pth.tar", 4, true, "", "checkpoint-#.pth.tar"},
	{"episode_120_240.npz", 120, true, "", "episode_#_#.npz"},
	{"best_checkpoint_4.pt", 4, true, "", "best_checkpoint_#.pt"},
	{"checkpoint_1_120.pt", 120, true, "", "checkpoint_#_#.pt"},
	{"checkpoint_0_100.pth", 100, true, "", "checkpoint_#_#.pth"},
	{"checkpoint_500_0.pt", 500, true, "", "checkpoint_#_0.pt"},
	{"rl_model_2560_steps.zip", 2560, true, "", "rl_model_#_steps.zip"},
	{"rl_model_replay_buffer_2560_steps.pkl", 2560, true, "",
	 "rl_model_replay_buffer_#_steps.pkl"},
	{"5_net_G.pth", 5, true, "", "#_net_G.pth"},
	{"model_10epochs.pt", 10, true, "", "model_#epochs.pt"},
	{"snap-3.bin", 3, true, "", "snap-#.bin"},
	{"snapshot_3.bin", 3, true, "", "snapshot_#.bin"},
	{"save_3.pt", 3, true, "", "save_#.pt"},
	{"round-17.npz", 17, true, "", "round-#.npz"},
	{"ck12.bin", 12, true, "", "ck#.bin"},
	{"cp-0004.weights.h5", 4, true, "", "cp-#.weights.h5"},
	/* A hash or a UUID is another one each time. */
	{"step-120-3fa2b1c9.pt", 120, true, "", "step-#-#.pt"},
	{"checkpoint-5/d/e1971dd2b6126b965fe9cff807864853", 5, true, "checkpoint-5",
	 "checkpoint-#/d/#"},
	{"checkpoint-5/550e8400-e29b-41d4-a716-446655440000.pt", 5, true, "checkpoint-5",
	 "checkpoint-#/#.pt"},
	{"3fa2b1c9/checkpoint-5/3fa2b1c9/x", 5, true, "3fa2b1c9/checkpoint-5",
	 "3fa2b1c9/checkpoint-#/#/x"},
	{"checkpoint-5/550e8400-e29b-41d4-a716-44665544000.pt", 5, true, "checkpoint-5",
	 "checkpoint-#/#-e29b-41d4-a716-44665544000.pt"},
	{"checkpoint-5/3fa2b1c.pt", 5, true, "checkpoint-5", "checkpoint-#/3fa2b1c.pt"},
	{"ep10.pt", 10, true, "", "ep#.pt"},
	{"epoch5_batch300.pt", 5, true, "", "epoch#_batch#.pt"},
	{"00000-stylegan3-gpus8-batch32/network-snapshot-000300.pkl", 300, true, "",
	 "00000-stylegan3-gpus8-batch#/network-snapshot-#.pkl"},
	{"edm-gpus8-batch64-fp32/last.pt", -1, false, "", "edm-gpus8-batch#-fp32/last.pt"},
	{"ckpt_3_step_100.pt", 100, true, "", "ckpt_#_step_#.pt"},
	{"step-5-rank-0.pt", 5, true, "", "step-#-rank-0.pt"},
	{"ckpt_5_rank3.pt", 5, true, "", "ckpt_#_rank3.pt"},
	{"ckpt-160-00001-of-00004.safetensors", 160, true, "", "ckpt-#-00001-of-00004.safetensors"},
	{"step-0.pt", 0, true, "", "step-#.pt"},
	{"step_20261122.pt", 20261122, true, "", "step_#.pt"},
	{"Llama-3.1-8B-step500.bin", 500, true, "", "Llama-#-8B-step#.bin"},
	{"out/2026-11-22/14-00-01/ckpt_140.pkl", 140, true, "",
	 "out/2026-11-22/14-00-01/ckpt_#.pkl"},
	{"multirun/2026-11-22/14-00-01/0/ckpt_20.pkl", 20, true, "",
	 "multirun/2026-11-22/14-00-01/0/ckpt_#.pkl"},
	{"multirun/2026-11-22/14-00-01/2/ckpt_20.pkl", 20, true, "",
	 "multirun/2026-11-22/14-00-01/2/ckpt_#.pkl"},
	{"7/ckpt_20.pkl", 20, true, "", "7/ckpt_#.pkl"},
	{"lightning_logs/version_0/checkpoints/epoch=1-step=3.ckpt", 3, true, "",
	 "lightning_logs/version_0/checkpoints/epoch=#-step=#.ckpt"},
	{"mlruns/0/3fa2b1c9d0/artifacts/step-5.pt", 5, true, "",
	 "mlruns/0/3fa2b1c9d0/artifacts/step-#.pt"},
	{"run-3/ckpt-5.pt", 5, true, "", "run-3/ckpt-#.pt"},
	{"epoch-3/step_120.npz", 120, true, "", "epoch-#/step_#.npz"},
	{"model_20261122_step5.pt", 5, true, "", "model_#_step#.pt"},
	{"ckpt_5_2026-11-22_14-36-21.pt", 5, true, "", "ckpt_#_#.pt"},
	{"lr=1e-05-epoch=4.pt", 4, true, "", "lr=1e-05-epoch=#.pt"},
};

/* In a numbered directory. */
static const struct row directories[] = {
	{"checkpoint-500/model-00001-of-00002.safetensors", 500, true, "checkpoint-500",
	 "checkpoint-#/model-00001-of-00002.safetensors"},
	{"out/checkpoint-500/a/model.pt", 500, true, "out/checkpoint-500",
	 "out/checkpoint-#/a/model.pt"},
	{"checkpoint-500/", 500, true, "checkpoint-500", "checkpoint-#/"},
	{"checkpoint-500/global_step500/x", 500, true, "checkpoint-500",
	 "checkpoint-#/global_step#/x"},
	{"checkpoint-500/rng_state_0.pth", 500, true, "checkpoint-500",
	 "checkpoint-#/rng_state_0.pth"},
	{"checkpoint-500/random_states_0.pkl", 500, true, "checkpoint-500",
	 "checkpoint-#/random_states_0.pkl"},
	{"checkpoint-500/model-500.bin", 500, true, "checkpoint-500", "checkpoint-#/model-#.bin"},
	{"checkpoint_1/optimizer_1.bin", 1, true, "checkpoint_1", "checkpoint_#/optimizer_1.bin"},
	{"checkpoint-500/eval_epoch_3.json", 500, true, "checkpoint-500",
	 "checkpoint-#/eval_epoch_#.json"},
	{"checkpoint-500/__0_0.distcp", 500, true, "checkpoint-500", "checkpoint-#/__0_0.distcp"},
	{"checkpoint-500/loss-0.83.txt", 500, true, "checkpoint-500", "checkpoint-#/loss-#.txt"},
	{"epoch-1/step-500/x", 500, true, "epoch-1/step-500", "epoch-#/step-#/x"},
	{"global_step500/mp_rank_00_model_states.pt", 500, true, "global_step500",
	 "global_step#/mp_rank_00_model_states.pt"},
	{"iter_0000123/.metadata", 123, true, "iter_0000123", "iter_#/.metadata"},
	{"iter_0000005/mp_rank_00/x", 5, true, "iter_0000005", "iter_#/mp_rank_00/x"},
	{"epoch=3-step=10/x", 10, true, "epoch=3-step=10", "epoch=#-step=#/x"},
	{"Checkpoint5/x", 5, true, "Checkpoint5", "Checkpoint#/x"},
	{"step-5/0/x", 5, true, "step-5", "step-#/0/x"},
	{"f_00000_0_lr=0.1_2026-11-22_14-36-21/checkpoint_000003/x", 3, true,
	 "f_00000_0_lr=0.1_2026-11-22_14-36-21/checkpoint_000003",
	 "f_00000_0_lr=0.1_2026-11-22_14-36-21/checkpoint_#/x"},
	{"3/checkpoint-500/x", 500, true, "3/checkpoint-500", "3/checkpoint-#/x"},
	{"5/default/d/x", 5, false, "5", "#/default/d/x"},
	{"1000/weights.h5", 1000, false, "1000", "#/weights.h5"},
	{"run/400/weights.h5", 400, false, "run/400", "run/#/weights.h5"},
	{"000400/model-3.bin", 400, false, "000400", "#/model-3.bin"},
	{"1000/model_1000.pt", 1000, false, "1000", "#/model_#.pt"},
	{"1000/step-1000.pt", 1000, true, "1000", "#/step-#.pt"},
	{"0000540/gen_0.npy", 540, false, "0000540", "#/gen_#.npy"},
	{"0000540/step_1000.pt", 1000, true, "", "0000540/step_#.pt"},
	{"00012/epoch_3.pt", 3, true, "", "00012/epoch_#.pt"},
	{"checkpoint-240/buffer/120_240.pt", 240, true, "checkpoint-240",
	 "checkpoint-#/buffer/#_#.pt"},
	{"1000/3/x.pt", 1000, false, "1000", "#/3/x.pt"},
	{"1000/", 1000, false, "1000", "#/"},
	{"model_35/weights.npz", 35, false, "model_35", "model_#/weights.npz"},
	{"out/best_model-7/a/b.bin", 7, false, "out/best_model-7", "out/best_model-#/a/b.bin"},
	{"weights_000120/w.bin", 120, false, "weights_000120", "weights_#/w.bin"},
	{"mylora-480-state/optimizer.bin", 480, false, "mylora-480-state",
	 "mylora-#-state/optimizer.bin"},
	{"out/mylora-000001-state/a", 1, false, "out/mylora-000001-state", "out/mylora-#-state/a"},
	{"optimizer_480/a.pt", 480, false, "optimizer_480", "optimizer_#/a.pt"},
	{"model_35/step_120.pt", 120, true, "", "model_35/step_#.pt"},
	{"model_2/1000/w.bin", 1000, false, "model_2/1000", "model_2/#/w.bin"},
	{"model_35/1/w.bin", 35, false, "model_35", "model_#/1/w.bin"},
	{"state_000510.zarr/w/c/3/2", 510, false, "state_000510.zarr", "state_#.zarr/w/c/3/2"},
	{"state_000510.zarr/zarr.json", 510, false, "state_000510.zarr", "state_#.zarr/zarr.json"},
	{"out/model-7.n5/3/1", 7, false, "out/model-7.n5", "out/model-#.n5/3/1"},
	{"step_20.zarr/w/c/3/2", 20, true, "step_20.zarr", "step_#.zarr/w/c/3/2"},
	{"step-5/w.zarr/c/3/2", 5, true, "step-5", "step-#/w.zarr/c/3/2"},
	{"1000/params/c/3/2", 1000, false, "1000", "#/params/c/3/2"},
};

/* Only a number at the end of the file's name. */
static const struct row trailing[] = {
	{"model-160.bin", 160, false, "", "model-#.bin"},
	{"optimizer-160.bin", 160, false, "", "optimizer-#.bin"},
	{"model_0160.msgpack", 160, false, "", "model_#.msgpack"},
	{"0160.eqx", 160, false, "", "#.eqx"},
	{"5", 5, false, "", "#"},
	{"0.pt", 0, false, "", "#.pt"},
	{"model.120", 120, false, "", "model.#"},
	{"state.5.pkl", 5, false, "", "state.#.pkl"},
	{"rng-5.json", 5, false, "", "rng-#.json"},
	{"stepping/17.bin", 17, false, "", "stepping/#.bin"},
	{"lgb_80.txt", 80, false, "", "lgb_#.txt"},
	{"model_0004999.pth", 4999, false, "", "model_#.pth"},
	{"model010000.pt", 10000, false, "", "model#.pt"},
	{"ema_0.9999_010000.pt", 10000, false, "", "ema_#_#.pt"},
	{"weights.05-0.83.hdf5", 5, false, "", "weights.#-#.hdf5"},
	{"best_model_5_val_acc=0.8312.pt", 5, false, "", "best_model_#_val_acc=#.pt"},
	{"model-160-rank0.pt", 160, false, "", "model-#-rank0.pt"},
	{"recovery-120.pt", 120, false, "", "recovery-#.pt"},
	{"model_trial_7.pkl", 7, false, "", "model_trial_#.pkl"},
	{"shard3-160.pt", 160, false, "", "shard3-#.pt"},
	{"model-160-2026-11-22.pt", 160, false, "", "model-#-#.pt"},
	{"20261122-140001-160.pt", 160, false, "", "#-#.pt"},
	{"gpt2-160.pth.tar", 160, false, "", "gpt2-#.pth.tar"},
	{"mlruns/0/4711.bin", 4711, false, "", "mlruns/0/#.bin"},
	/* A range, or an epoch and a step; but what is behind the step is a rank. */
	{"buffer/0_120.pt", 120, false, "", "buffer/#_#.pt"},
	{"buffer/120_240.pt", 240, false, "", "buffer/#_#.pt"},
	{"replay-00120-00240.npz", 240, false, "", "replay-#-#.npz"},
	{"model-3-500.pt", 500, false, "", "model-#-#.pt"},
	{"model-274-2.pt", 274, false, "", "model-#-2.pt"},
	{"out/20261122/140001/model-7.pt", 7, false, "", "out/20261122/140001/model-#.pt"},
};

/* Fixed names. */
static const struct row fixed[] = {
	{"", -1, false, "", ""},
	{"latest", -1, false, "", "latest"},
	{"last.ckpt", -1, false, "", "last.ckpt"},
	{"last-v1.ckpt", -1, false, "", "last-v1.ckpt"},
	{"model_v2.pt2", -1, false, "", "model_v2.pt2"},
	{"model-1.2.3.pt", -1, false, "", "model-1.2.3.pt"},
	{"model-v1.5.pt", -1, false, "", "model-v1.5.pt"},
	{"optimizer_1/a.pt", -1, false, "", "optimizer_1/a.pt"},
	{"agent-2-state/a.pt", -1, false, "", "agent-2-state/a.pt"},
	{"run-300-final/a.pt", -1, false, "", "run-300-final/a.pt"},
	{"version_3.bin", -1, false, "", "version_3.bin"},
	{"resnet50.pt", -1, false, "", "resnet50.pt"},
	{"w2v.model", -1, false, "", "w2v.model"},
	{"w2v.model.syn1neg.npy", -1, false, "", "w2v.model.syn1neg.npy"},
	{"model-last/tok2vec/model", -1, false, "", "model-last/tok2vec/model"},
	{"llama-7b.bin", -1, false, "", "llama-7b.bin"},
	{"out/2026-11-22/14-00-01/model.pkl", -1, false, "", "out/2026-11-22/14-00-01/model.pkl"},
	{"out/20261122/model.pkl", -1, false, "", "out/20261122/model.pkl"},
	{"20261122/model.pkl", -1, false, "", "20261122/model.pkl"},
	{"20261122143621.pt", -1, false, "", "#.pt"},
	{"model_2026-11-22_14-36-21.pt", -1, false, "", "model_#.pt"},
	{"model_20261122.pt", -1, false, "", "model_#.pt"},
	{"recovery-3-120.pth.tar", -1, false, "", "recovery-#-#.pth.tar"},
	{"recovery-12-5.pth.tar", -1, false, "", "recovery-#-#.pth.tar"},
	{"train/20261122-140001-resnet50-224/recovery-0-49.pth.tar", -1, false, "",
	 "train/20261122-140001-resnet50-224/recovery-#-#.pth.tar"},
	{"ckpt_20261122-143621.pt", -1, false, "", "ckpt_#.pt"},
	{"replay/20261127T220043F226443-3fa2b1c9d0ef-0000-1024.npz", -1, false, "", NULL},
	{"buffer/20211112T101112_5_501.npz", -1, false, "", NULL},
	{"model_2026-11-22T14:36:21.123.pt", -1, false, "", NULL},
	{"model_22-11-2026.pt", -1, false, "", "model_#.pt"},
	{"Nov22_14-36-21_host/model.pt", -1, false, "", "Nov22_14-36-21_host/model.pt"},
	{"model-3fa2b1c9.pt", -1, false, "", "model-3fa2b1c9.pt"},
	{"checkpoint-3fa2b1c9.pt", -1, false, "", "checkpoint-3fa2b1c9.pt"},
	{"550e8400-e29b-41d4-a716-446655440000.pt", -1, false, "",
	 "550e8400-e29b-41d4-a716-446655440000.pt"},
	{"mlruns/1/meta.yaml", -1, false, "", "mlruns/1/meta.yaml"},
	{"mlruns/123456789012345678/meta.yaml", -1, false, "",
	 "mlruns/123456789012345678/meta.yaml"},
	{"123456789012345678/meta.yaml", -1, false, "", "123456789012345678/meta.yaml"},
	{"model-123456789012345678.pt", -1, false, "", "model-123456789012345678.pt"},
	{"99999999999999999999", -1, false, "", "99999999999999999999"},
	{"step-99999999999999999999.pt", -1, false, "", "step-99999999999999999999.pt"},
	{"model-1700000000.pt", -1, false, "", "model-1700000000.pt"},
	{"0/model.pt", -1, false, "", "0/model.pt"},
	{"model_lr_3/x.pt", -1, false, "", "model_lr_3/x.pt"},
	{"model_v2/x.pt", -1, false, "", "model_v2/x.pt"},
	{"resnet_50/x.pt", -1, false, "", "resnet_50/x.pt"},
	{"agent_2/last.pt", -1, false, "", "agent_2/last.pt"},
	{"model.zarr/w/c/3/2", -1, false, "", "model.zarr/w/c/3/2"},
	{"model.zarr/w/3.2", -1, false, "", "model.zarr/w/3.2"},
	{"last/w/c/3/2", -1, false, "", "last/w/c/3/2"},
	{"000/model.pt", -1, false, "", "000/model.pt"},
	{"multirun/2026-11-22/14-00-01/3/last.pt", -1, false, "",
	 "multirun/2026-11-22/14-00-01/3/last.pt"},
	{"runs/12/last.pt", -1, false, "", "runs/12/last.pt"},
	{"fold3/x", -1, false, "", "fold3/x"},
	{"trial_3/x.pt", -1, false, "", "trial_3/x.pt"},
	{"run-3/last.pt", -1, false, "", "run-3/last.pt"},
	{"checkpoints_v2/x.pt", -1, false, "", "checkpoints_v2/x.pt"},
	{"checkpoints/x.pt", -1, false, "", "checkpoints/x.pt"},
	{"pack-1/x", -1, false, "", "pack-1/x"},
	{"autosave2.bin", -1, false, "", "autosave2.bin"},
	{"model-00001-of-00004.safetensors", -1, false, "", "model-00001-of-00004.safetensors"},
	{"data-00000-of-00001", -1, false, "", "data-00000-of-00001"},
	{"model_1of4.bin", -1, false, "", "model_1of4.bin"},
	{"__0_0.distcp", -1, false, "", "__0_0.distcp"},
	{"consolidated.00.pth", -1, false, "", "consolidated.00.pth"},
	{"rank0.pt", -1, false, "", "rank0.pt"},
	{"chain_1.txt", -1, false, "", "chain_1.txt"},
	{"rank_12.pt", -1, false, "", "rank_12.pt"},
	{"mp_rank_00_model_states.pt", -1, false, "", "mp_rank_00_model_states.pt"},
	{"layer_03-model_00-model_states.pt", -1, false, "", "layer_03-model_00-model_states.pt"},
	{"random_states_0.pkl", -1, false, "", "random_states_0.pkl"},
	{"model_tp_1.bin", -1, false, "", "model_tp_1.bin"},
	{"ocdbt.process_0/manifest", -1, false, "", "ocdbt.process_0/manifest"},
	{"worker-2.npz", -1, false, "", "worker-2.npz"},
	{"fold_4.pkl", -1, false, "", "fold_4.pkl"},
	{"best_loss_3.21.pt", -1, false, "", "best_loss_#.pt"},
	{"best-f1=0.83.pt", -1, false, "", NULL},
	{"model_lr1e-05.pt", -1, false, "", NULL},
	{"model_seed_42.pt", -1, false, "", "model_seed_42.pt"},
	{"run_500.log", -1, false, "", "run_500.log"},
	{"train.log.3", -1, false, "", "train.log.3"},
	{"events.out.tfevents.1700000000.host.42.0", -1, false, "", NULL},
	{"model.git/objects/86/3f2a9b1c7d", -1, false, "", NULL},
};

/* Names that are used until the file or the directory is complete. */
static const struct row temporary[] = {
	{"step-5.bin.tmp", 5, true, "", "step-#.bin.tmp"},
	{"step-5.bin.tmp.12345", 5, true, "", NULL},
	{"step-5.bin.12345.tmp", 5, true, "", NULL},
	{"step-5.bin.partial", 5, true, "", NULL},
	{"step-5.bin~", 5, true, "", NULL},
	{".ckpt-5.pt.abc123", 5, true, "", ".ckpt-#.pt.abc123"},
	{".model-5.bin.Xa82kd", 5, false, "", NULL},
	{"model-5.bin.tmp", 5, false, "", "model-#.bin.tmp"},
	{"model-5.tmp.npz", 5, false, "", NULL},
	{"state.5.pkl.12345.tmp", 5, false, "", NULL},
	{"tmp-model-5.bin", 5, false, "", "tmp-model-#.bin"},
	{"model.120.tmp", 120, false, "", NULL},
	{"model.pt.12345.tmp", -1, false, "", NULL},
	{"model.pt.tmp.12345", -1, false, "", NULL},
	{"model.pt.tmp12345", -1, false, "", NULL},
	{"tmp8x3k2_1", -1, false, "", NULL},
	{"tmpab12cd", -1, false, "", NULL},
	{"tmp.12345", -1, false, "", NULL},
	{".nfs000000000000123400000001", -1, false, "", NULL},
	{"checkpoint-5.tmp/x", 5, true, "checkpoint-5.tmp", "checkpoint-#.tmp/x"},
	{"tmp-checkpoint-10/x", 10, true, "tmp-checkpoint-10", "tmp-checkpoint-#/x"},
	{"tmp-5/x", 5, false, "tmp-5", "tmp-#/x"},
	{"5.orbax-checkpoint-tmp-1700000000/x", 5, false, "5.orbax-checkpoint-tmp-1700000000",
	 NULL},
	{".tmp-step_5/x", 5, true, ".tmp-step_5", NULL},
};

static bool row_holds(const struct row *row)
{
	struct checkpoint_name name = checkpoint_name_parse(row->path);
	auto_free char *template = checkpoint_name_template(row->path);

	assert_true(step_of_path(row->path) == name.number);
	assert_true(checkpoint_directory_length(row->path) == name.unit_length);
	if (name.number == row->number && name.certain == row->certain &&
	    name.unit_length == strlen(row->unit) &&
	    strncmp(row->path, row->unit, name.unit_length) == 0 &&
	    (!row->template || strcmp(template, row->template) == 0))
		return true;
	print_error("%s: number %lld%s, directory \"%.*s\", template %s\n", row->path,
		    (long long)name.number, name.certain ? ", certain" : "", (int)name.unit_length,
		    row->path, template);
	return false;
}

static void check_rows(const struct row *rows, size_t count)
{
	size_t wrong = 0;

	for (size_t i = 0; i < count; i++)
		wrong += row_holds(&rows[i]) ? 0 : 1;
	assert_int_equal(wrong, 0);
}

static void test_counted(void **state)
{
	(void)state;
	check_rows(counted, COUNT_OF(counted));
}

static void test_directories(void **state)
{
	(void)state;
	check_rows(directories, COUNT_OF(directories));
}

static void test_trailing(void **state)
{
	(void)state;
	check_rows(trailing, COUNT_OF(trailing));
}

static void test_fixed(void **state)
{
	(void)state;
	check_rows(fixed, COUNT_OF(fixed));
}

static void test_temporary(void **state)
{
	(void)state;
	check_rows(temporary, COUNT_OF(temporary));
}

static void test_keys(void **state)
{
	static const struct {
		const char *path, *key, *family;
	} rows[] = {
		{"run/checkpoint-500/model.pt", "run/checkpoint-500/", "run/checkpoint-#/"},
		{"run/checkpoint-500/a/rank0.pt", "run/checkpoint-500/", "run/checkpoint-#/"},
		{"run/checkpoint-500/", "run/checkpoint-500/", "run/checkpoint-#/"},
		{"run/checkpoint-500.tmp/model.pt", "run/checkpoint-500/", "run/checkpoint-#/"},
		{"tmp-checkpoint-5/x", "checkpoint-5/", "checkpoint-#/"},
		{"tmp-5/x", "5/", "#/"},
		{"5.orbax-checkpoint-tmp-17/default/x", "5/", "#/"},
		{"5/default/x", "5/", "#/"},
		{"epoch-1/step-500/x", "epoch-1/step-500/", "epoch-#/step-#/"},
		{"epoch-1/step-500.pt", "epoch-1/#500", "epoch-#/#"},
		{"run/model-160.bin", "run/#160", "run/#"},
		{"run/optimizer-00160.bin", "run/#160", "run/#"},
		{"step-5.bin", "#5", "#"},
		{"step-5.bin.tmp", "#5", "#"},
		{".ckpt-5.pt.abc123", "#5", "#"},
		{"5", "#5", "#"},
		{"state.5.pkl", "#5", "#"},
		{"rng-5.json", "#5", "#"},
		{"out/2026-11-22/14-00-01/ckpt_140.pkl", "out/2026-11-22/14-00-01/#140",
		 "out/2026-11-22/14-00-01/#"},
		{"last.pt", "", ""},
		{"run/rank0.pt", "", ""},
		{"", "", ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		auto_free char *key = checkpoint_name_key(rows[i].path);
		auto_free char *family = checkpoint_name_family(rows[i].path);

		if (strcmp(key, rows[i].key) != 0 || strcmp(family, rows[i].family) != 0)
			fail_msg("%s: key %s, family %s", rows[i].path, key, family);
	}
}

static void test_single_names(void **state)
{
	(void)state;
	assert_int_equal(checkpoint_number_of_name("checkpoint-500/x", 14), 500);
	assert_int_equal(checkpoint_number_of_name("checkpoint-500", 12), 5);
	assert_int_equal(checkpoint_number_of_name("500", 3), -1);
	assert_int_equal(checkpoint_number_at("007.pt", 6), 7);
	assert_int_equal(checkpoint_number_at("12", 1), 1);
	assert_int_equal(checkpoint_number_at("x", 1), -1);
	assert_int_equal(checkpoint_number_at("", 0), -1);
}

/* Any bytes are a name. */
static void test_any_bytes(void **state)
{
	static const char alphabet[] = "0129-_./=:~tmpstepofckpt\xff e";
	unsigned seed = 1;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		char path[96];
		size_t length = (size_t)i % (sizeof(path) - 1);
		auto_free char *key = NULL, *template = NULL, *family = NULL;

		for (size_t at = 0; at < length; at++) {
			seed = seed * 1103515245 + 12345;
			path[at] = alphabet[(seed >> 16) % (sizeof(alphabet) - 1)];
		}
		path[length] = '\0';
		key = checkpoint_name_key(path);
		template = checkpoint_name_template(path);
		family = checkpoint_name_family(path);
		assert_true(strlen(template) <= 2 * length);
		assert_true((*key == '\0') == (*family == '\0'));
		assert_true(checkpoint_directory_length(path) <= length);
	}
}

static void test_names_that_no_other_file_has(void **state)
{
	static const struct {
		const char *path, *stream;
	} paths[] = {
		{"replay/20261127T220043F226443-3fa2b1c9d0ef-0000-1024.npz", "replay/?.npz"},
		{"replay/20261127T220043F226443-6eVxP1vcEUbZVqdPFxyXaB-0-1024.npz", "replay/?.npz"},
		{"buffer/20211112T101112_5_501.npz", "buffer/?.npz"},
		{"550e8400-e29b-41d4-a716-446655440000.pt", "?.pt"},
		{"d/e1971dd2b6126b965fe9cff807864853", "d/?"},
		{"ckpt/20261127T220043F226443/agent.pkl", NULL},
		{"model_20261122.pt", NULL},
		{"replay/episode_120.npz", NULL},
		{"step-5/3fa2b1c9d0ef.npz", NULL},
		{"last.pt", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		auto_free char *stream = checkpoint_name_stream(paths[i].path);

		if (paths[i].stream ? !stream || strcmp(stream, paths[i].stream) != 0
				    : stream != NULL)
			fail_msg("%s: %s", paths[i].path, stream ? stream : "none");
	}
}

static void test_names_of_what_is_not_finished(void **state)
{
	static const struct {
		const char *path;
		bool temporary;
	} paths[] = {
		{"step-5.pt.tmp", true},
		{"step-5.bin.tmp.123", true},
		{"run/tmp-step-5/model.pt", true},
		{"checkpoint-5.tmp/a/b", true},
		{"checkpoint-5/model.partial", true},
		{"checkpoint-5/shards.tmp/0", true},
		{"last.pt.tmp", true},
		{"last.tmp/model/x.pt", true},
		{"step-5.pt", false},
		{"last.pt", false},
		{"tmp/last.pt", false},
		{"tmp-run/step-5/model.pt", false},
		{"tmp-run/step-5.pt", false},
		{"checkpoint-5/.metadata", false},
		{"last.pt~", false},
		{"checkpoint-5/template.json", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (checkpoint_name_is_temporary(paths[i].path) != paths[i].temporary)
			fail_msg("%s: not %d", paths[i].path, paths[i].temporary);
}

/* A backup's name is the old one with a word added. */
static void test_backup_names(void **state)
{
	static const struct {
		const char *path, *of;
		bool backup;
	} names[] = {
		{"a.ckp~", "a.ckp", true},          {"state_prev.cpt", "state.cpt", true},
		{"old/model.pt", "model.pt", true}, {"model.pt", "model.pt.tmp", false},
		{"model.pt", "t", false},           {"models.pt", "model.pt", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(names); i++)
		assert_true(checkpoint_name_is_backup(names[i].path, names[i].of) ==
			    names[i].backup);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_backup_names),
		cmocka_unit_test(test_names_that_no_other_file_has),
		cmocka_unit_test(test_names_of_what_is_not_finished),
		cmocka_unit_test(test_counted),
		cmocka_unit_test(test_directories),
		cmocka_unit_test(test_trailing),
		cmocka_unit_test(test_fixed),
		cmocka_unit_test(test_temporary),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_single_names),
		cmocka_unit_test(test_any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
