"""Layouts of public programs: how they name and order the files of a save, and what their own start loads."""
from job import directory, either, first_of, fixed, latest_of, layout, most_of, newest, pointer, with_outputs

# --- simulation codes: outputs that stay open, names that stay, old ones renamed

GROMACS = with_outputs(first_of(fixed("state.cpt"), fixed("state_prev.cpt")), "traj.xtc", "ener.edr", "md.log")
layout("GROMACS mdrun", "gromacs/gromacs: state_stepN.cpt, renamed", GROMACS,
       "w state_step{n}.cpt 300; ?k>1 mv state.cpt state_prev.cpt; mv state_step{n}.cpt state.cpt; done",
       beside=["open traj.xtc 700", "open ener.edr 500", "open md.log 500"], term="w state_step.cpt 300; mv state.cpt state_prev.cpt; "
       "mv state_step.cpt state.cpt; done")
layout("GROMACS mdrun -cpnum", "gromacs/gromacs: numbered", with_outputs(newest("state_step#.cpt"), "traj.xtc", "md.log"),
       "w state_step{n}.cpt 300; done", beside=["open traj.xtc 700", "open md.log 500"])
layout("LAMMPS restart N file1 file2", "lammps/lammps: toggles", with_outputs(latest_of("poly.a", "poly.b"), "dump.lammpstrj"),
       "?k%2 w poly.a 600; ?k%2==0 w poly.b 600; done", beside=["open dump.lammpstrj 500", "open log.lammps 900"])
layout("LAMMPS restart N root", "lammps/lammps: a number behind the name", newest("poly.restart.#"), "w poly.restart.{n*100} 600; done",
       beside=["open dump.lammpstrj 500", "open log.lammps 900"])
layout("LAMMPS fileper", "lammps/lammps: base, and a file for each rank", newest("poly.base.#", "poly.0.#", "poly.1.#"),
       "w poly.base.{n} 20; & w poly.0.{n} 400; & 2: w poly.1.{n} 500; join; done", beside=["open log.lammps 900"])
MRBAYES = (with_outputs(fixed("a.nex.ckp"), "a.nex.run1.p", "a.nex.run1.t", "a.nex.run2.p", "a.nex.run2.t"),
           "?k>2 mv a.nex.ckp~ a.nex.ckp~~; ?k>1 mv a.nex.ckp a.nex.ckp~; w a.nex.ckp 5; ?k>2 rm a.nex.ckp~~; done")
layout("MrBayes", "NBISweden/MrBayes: .ckp to .ckp~, then anew", *MRBAYES, beside=["open a.nex.run1.p 500", "open a.nex.run1.t 500", "open a.nex.run2.p 500", "open a.nex.run2.t 500", "open a.nex.mcmc 2000"])
layout("MrBayes, saves without a pause", "NBISweden/MrBayes: a small data set", *MRBAYES, train=0.4,
       beside=["open a.nex.run1.p 500", "open a.nex.run1.t 500", "open a.nex.run2.p 500", "open a.nex.run2.t 500", "open a.nex.mcmc 2000"])
layout("CP2K wavefunction", "cp2k/cp2k: up to three backups", latest_of("p-RESTART.wfn", "p-RESTART.wfn.bak-1", "p-RESTART.wfn.bak-2"),
       """?k>2 mv p-RESTART.wfn.bak-1 p-RESTART.wfn.bak-2; ?k>1 mv p-RESTART.wfn p-RESTART.wfn.bak-1; w p-RESTART.wfn 400; done""",
       beside=["open p.out 500"], train=6)
layout("CP2K restart and trajectory", "cp2k/cp2k: p-1.restart", with_outputs(latest_of("p-1.restart", "p-1.restart.bak-1"), "p-pos-1.xyz"),
       "?k>1 mv p-1.restart p-1.restart.bak-1; w p-1.restart 40; w p-1_{n}.restart 40; "
       "done", beside=["open p-pos-1.xyz 700", "open p-1.ener 700"])
NAMD = fixed("md.restart.coor", "md.restart.vel", "md.restart.xsc")
NAMD_SAVE = ";".join(f"?k>1 mv md.restart.{x} md.restart.{x}.old; w md.restart.{x} 100" for x in ("coor", "vel", "xsc")) + "; done"
layout("NAMD restart", "NAMD: each to .old, then anew", NAMD, NAMD_SAVE, beside=["open md.dcd 500", "open md.log 500"])
layout("NAMD restart, else from .old", "NAMD: as its users' scripts do",
       either(NAMD, fixed("md.restart.coor.old", "md.restart.vel.old", "md.restart.xsc.old")), NAMD_SAVE, beside=["open md.dcd 500"])
layout("OpenMM CheckpointReporter", "openmm/openmm: one file, beside and renamed", with_outputs(fixed("state.chk"), "traj.dcd"),
       "t state.chk 200; done", beside=["open traj.dcd 600", "open data.csv 600"])
layout("OpenMM checkpoint in place", "openmm/openmm: older releases", with_outputs(fixed("state.chk"), "traj.dcd"),
       "w state.chk 200; done", beside=["open traj.dcd 600", "open data.csv 600"])
layout("Amber pmemd", "Amber: one restart, written over", with_outputs(fixed("md.rst"), "md.nc"), "w md.rst 200; done",
       beside=["open md.nc 600", "open md.out 600", "over mdinfo 900"])
layout("IQ-TREE", "iqtree/iqtree2: .ckp.gz beside and renamed",
       fixed("a.ckp.gz"), "t a.ckp.gz 60; done", beside=["open a.log 400", "over a.treefile 5000"], train=8)
layout("RAxML-NG", "amkozlov/raxml-ng: .ckp.tmp renamed",
       fixed("a.raxml.ckp"), "t a.raxml.ckp 40; done", beside=["log a.raxml.log 600"], train=5)
layout("Quantum ESPRESSO", "QEF/q-e: a directory written over",
       fixed("out/p.save/wfc1.dat", "out/p.save/charge-density.dat", "out/p.save/data-file-schema.xml"),
       "w out/p.save/wfc1.dat 300; w out/p.save/charge-density.dat 200; w out/p.save/data-file-schema.xml 5; "
       "done", beside=["open p.out 700"])
layout("WRF restart", "wrf-model/WRF: dates in names", lambda v: max((v.load(p) for p in v.files if p.startswith("wrfrst")), default=0),
       "w wrfrst_d01_2026-04-{k:02}_00:00:00 900; done", beside=["open wrfout_d01_2026-04-01_00:00:00 800", "open rsl.out.0000 400"])
layout("OpenFOAM", "OpenFOAM: a directory for each time", directory("#", "U", "p", "uniform/time"),
       "w {n}/U 200; w {n}/p 200; w {n}/phi 200; w {n}/uniform/time 5; done; ?k>3 rm {o(3)}", beside=["open log.simpleFoam 400"])
layout("OpenFOAM in parallel", "OpenFOAM: processorN/TIME", newest("processor0/#/U", "processor0/#/p", "processor1/#/U", "processor1/#/p"),
       "& w processor0/{n}/U 200, w processor0/{n}/p 200; & 2: w processor1/{n}/U 300, 2: w processor1/{n}/p 300; join; done",
       beside=["open log.simpleFoam 400"])
layout("AMReX", "AMReX-Codes/amrex: chkN.temp, then renamed", directory("chk#", "Header", "Level_0/Cell_D_00000"),
       """& w chk{n:05}.temp/Level_0/Cell_D_00000 300; & 2: w chk{n:05}.temp/Level_0/Cell_D_00001 400; join; w chk{n:05}.temp/Header 10
       mv chk{n:05}.temp chk{n:05}; done""")
layout("Enzo-E", "enzo-project/enzo-e: Check-NN", directory("Check-#", "block_0.h5", "block_1.h5", "check.file_list"),
       "w Check-{n:02}/block_0.h5 300; w Check-{n:02}/block_1.h5 300; w Check-{n:02}/check.file_list; done")
layout("FFEA", "FFEA: trajectory and checkpoint", with_outputs(fixed("sphere.fcp"), "sphere.ftj"), "w sphere.fcp 20; done",
       beside=["open sphere.ftj 500", "open sphere.fm 500"], train=6)
layout("john the ripper", "openwall/john: .rec written over in one open file",
       fixed("john.rec"), "in john.rec 2; done", beside=["log john.pot 4000", "log john.log 700"],
       train=6)
layout("emcee HDF backend", "dfm/emcee: one file, opened again for each step", fixed("chain.h5"), "in chain.h5 20; done", train=2, saves=20)
layout("dynesty", "joshspeagle/dynesty: beside, and renamed",
       fixed("dynesty.save"), "t dynesty.save 100 dynesty.save.{h()[:8]}.tmp; done", train=10)

# --- trainers

layout("nanoGPT", "karpathy/nanoGPT: one file, written over", fixed("ckpt.pt"), "w ckpt.pt 800; done")
layout("nanochat", "karpathy/nanochat: three of one number", newest("model_#.pt", "optim_#_rank0.pt", "meta_#.json"),
       "w model_{n:06}.pt 300; w meta_{n:06}.json 5; w optim_{n:06}_rank0.pt 600; done")
layout("Ultralytics YOLO", "ultralytics/ultralytics: last, best, epochs", fixed("weights/last.pt"),
       "row results.csv; w weights/last.pt 300; ?best w weights/best.pt 300; ?k%3==0 w weights/epoch{k}.pt 300; done",
       start="text args.yaml x; w labels.jpg")
layout("YOLOv5 with plots", "ultralytics/yolov5: pictures at the end", fixed("weights/last.pt"),
       "w weights/last.pt 300; ?best cp weights/last.pt weights/best.pt 300; done; w val_batch{k}_pred.jpg 10; row results.csv",
       beside=["log events.out.tfevents.1.h.1.0 900"])
layout("detectron2", "facebookresearch/detectron2: number, then pointer", pointer("last_checkpoint", "#"),
       "w model_{n*12-1:07}.pth 300; text last_checkpoint model_{n*12-1:07}.pth; done", beside=["log metrics.json 900"])
layout("mmengine", "open-mmlab/mmengine: epoch_N.pth, last_checkpoint, old ones removed", pointer("last_checkpoint", "#"),
       "w epoch_{k}.pth 300; ?k>2 rm epoch_{k-2}.pth; text last_checkpoint epoch_{k}.pth; ?best w best_acc_epoch_{k}.pth 300; done",
       beside=["log vis_data/scalars.json 900"])
layout("fairseq", "facebookresearch/fairseq: one is written, the others are copies", fixed("checkpoint_last.pt"),
       "t checkpoint_{k}_{n}.pt 900; ?best cp checkpoint_{k}_{n}.pt checkpoint_best.pt 500; "
       "cp checkpoint_{k}_{n}.pt checkpoint_last.pt 500; done")
layout("Megatron-LM, distributed", "NVIDIA/Megatron-LM: torch_dist, async",
       pointer("latest_checkpointed_iteration.txt", "iter_#/__0_0.distcp", "iter_#/__1_0.distcp", "iter_#/common.pt", "iter_#/.metadata"),
       """w iter_{n:07}/common.pt 20
       & w iter_{n:07}/__0_0.distcp 2500, t iter_{n:07}/.metadata, text latest_checkpointed_iteration.txt {n:07}, done
       & 2: w iter_{n:07}/__1_0.distcp 2000""", train=15)
layout("NeMo", "NVIDIA/NeMo: marker of the unfinished beside",
       newest("ck/step=#-last/weights/__0_0.distcp", "ck/step=#-last/context/model.yaml", tolerant=True),
       "text ck/step={n}-last-unfinished x; w ck/step={n}-last/weights/__0_0.distcp 600; w ck/step={n}-last/context/model.yaml; "
       "rm ck/step={n}-last-unfinished; done; ?k>1 rm ck/step={o(1)}-last")
layout("DeepSpeed", "microsoft/DeepSpeed: tag directory, then latest",
       pointer("latest", "#/mp_rank_00_model_states.pt", "#/zero_pp_rank_0_mp_rank_00_optim_states.pt",
       "#/zero_pp_rank_1_mp_rank_00_optim_states.pt"),
       """w global_step{n}/mp_rank_00_model_states.pt 300; & w global_step{n}/zero_pp_rank_0_mp_rank_00_optim_states.pt 400
       & 2: w global_step{n}/zero_pp_rank_1_mp_rank_00_optim_states.pt 1500; join; text latest global_step{n}
       done""", start="w zero_to_fp32.py")
layout("Orbax", "google/orbax: temporary directory, renamed", directory("#", "state/manifest.ocdbt", "_CHECKPOINT_METADATA"),
       """w {n}.orbax-checkpoint-tmp/state/d/{h()} 300; w {n}.orbax-checkpoint-tmp/state/manifest.ocdbt
       w {n}.orbax-checkpoint-tmp/_CHECKPOINT_METADATA
       mv {n}.orbax-checkpoint-tmp {n}; done; ?k>3 rm {o(3)}""")
layout("Orbax, async", "google/orbax: the same, beside the training",
       directory("#", "state/manifest.ocdbt", "metrics/metrics", "_CHECKPOINT_METADATA"),
       """& w {n}.orbax-checkpoint-tmp/state/d/{h()} 4000, w {n}.orbax-checkpoint-tmp/state/manifest.ocdbt, w {n}.orbax-checkpoint-tmp/metrics/metrics, w {n}.orbax-checkpoint-tmp/_CHECKPOINT_METADATA, mv {n}.orbax-checkpoint-tmp {n}, done""", train=10)
layout("Orbax, commit file", "google/orbax: commit_success.txt where no rename is",
       newest("#/state/manifest.ocdbt", "#/state/array", needs="#/commit_success.txt"),
       "w {n}/state/array 600; w {n}/state/manifest.ocdbt; text {n}/commit_success.txt ok; done")
layout("torch DCP", "pytorch/pytorch: shards, then .metadata by rename",
       newest("step-#/__0_0.distcp", "step-#/__1_0.distcp", needs="step-#/.metadata"),
       "& w step-{n}/__0_0.distcp 1200; & 2: w step-{n}/__1_0.distcp 1500; join; t step-{n}/.metadata; done")
layout("torchtitan, async", "pytorch/torchtitan: step-N, old ones purged", newest("step-#/__0_0.distcp", needs="step-#/.metadata"),
       "& w step-{n}/__0_0.distcp 3000, t step-{n}/.metadata, done; ?k>3 rm step-{o(3)}", train=10)
layout("Lightning", "Lightning-AI/pytorch-lightning: top k and last", fixed("checkpoints/last.ckpt"),
       "w checkpoints/epoch={k}-step={n}.ckpt 400; ?k>1 rm checkpoints/epoch={k-1}-step={o(1)}.ckpt; w checkpoints/last.ckpt 400; done",
       start="text hparams.yaml x", beside=["row metrics.csv 900"])
layout("Lightning, last is a link", "Lightning-AI/pytorch-lightning: save_last=link", pointer("checkpoints/last.ckpt", "checkpoints/#"),
       "w checkpoints/epoch={k}-step={n}.ckpt 400; resym epoch={k}-step={n}.ckpt checkpoints/last.ckpt; "
       "?k>1 rm checkpoints/epoch={k-1}-step={o(1)}.ckpt; done")
HF = ("model.safetensors", "optimizer.pt", "scheduler.pt", "rng_state.pth", "trainer_state.json")
layout("HF Trainer", "huggingface/transformers: directories, limit two", directory("checkpoint-#", *HF),
       ";".join(f"w checkpoint-{{n}}/{name} 200" for name in HF) + "; done; "
       "?k>2 rm checkpoint-{o(2)}", beside=["log runs/events.out.tfevents.1.h.1.0 1000"])
layout("HF Trainer, just in time", "huggingface/transformers: checkpoint-is-incomplete.txt",
       directory("checkpoint-#", *HF),
       "text checkpoint-{n}/checkpoint-is-incomplete.txt x;" + ";".join(f"w checkpoint-{{n}}/{name} 200" for name in HF)
       + "; rm checkpoint-{n}/checkpoint-is-incomplete.txt; done")
layout("accelerate", "huggingface/accelerate: checkpoint_N",
       directory("checkpoint_#", "model.safetensors", "optimizer.bin", "scheduler.bin", "random_states_0.pkl"),
       "?k>3 rm checkpoint_{k-3}; w checkpoint_{k}/model.safetensors 300; w checkpoint_{k}/optimizer.bin 600; "
       "w checkpoint_{k}/scheduler.bin; w checkpoint_{k}/random_states_0.pkl; done", step=1)
layout("diffusers LoRA", "huggingface/diffusers: the oldest is removed first",
       directory("checkpoint-#", "optimizer.bin", "random_states_0.pkl", "pytorch_lora_weights.safetensors"),
       "?k>3 rm checkpoint-{o(3)}; w checkpoint-{n}/optimizer.bin 300; w checkpoint-{n}/random_states_0.pkl; "
       "w checkpoint-{n}/pytorch_lora_weights.safetensors 100; done")
layout("timm", "huggingface/pytorch-image-models: last, links, best", fixed("last.pth.tar"),
       """w tmp.pth.tar 400; ?k>1 rm last.pth.tar; mv tmp.pth.tar last.pth.tar; ln last.pth.tar checkpoint-{k}.pth.tar
       ?k>3 rm checkpoint-{k-3}.pth.tar; ?best rm model_best.pth.tar; ?best ln last.pth.tar model_best.pth.tar
       done""", beside=["row summary.csv 5000"])
layout("timm recovery", "huggingface/pytorch-image-models: recovery-E-B",
       lambda v: max((v.load(p) for p in v.files if p.startswith("recovery")), default=0),
       "w recovery-{k//3}-{50*(k%3)}.pth.tar 200; ?k>2 rm recovery-{(k-2)//3}-{50*((k-2)%3)}.pth.tar; done", train=10, saves=10)
layout("Kaldi", "kaldi-asr/kaldi: N.mdl, alignments of parts", newest("#.mdl", "#.occs", "ali.1.gz", "ali.2.gz"),
       "w ali.1.gz 100; w ali.2.gz 100; w {n}.mdl 100; w {n}.occs 20; done", beside=["open log/acc.log 900"])
layout("alphazero-general", "suragnair/alpha-zero-general: temp, examples, the accepted", fixed("temp/best.pth.tar"),
       """w temp/checkpoint_{k-1}.pth.tar.examples 200; w temp/temp.pth.tar 200; z 6000
       ?r.random()<.6 w temp/checkpoint_{k}.pth.tar 300, w temp/best.pth.tar 300, done""", train=10, saves=12)
layout("SB3 CheckpointCallback", "DLR-RM/stable-baselines3: model, buffer, statistics",
       newest("rl_model_#_steps.zip", "rl_model_replay_buffer_#_steps.pkl", "rl_model_vecnormalize_#_steps.pkl"),
       "w rl_model_{n}_steps.zip 200; w rl_model_replay_buffer_{n}_steps.pkl 3000; w rl_model_vecnormalize_{n}_steps.pkl 20; "
       "done", beside=["log progress.csv 900"])
layout("RLlib", "ray-project/ray: checkpoint_N of Tune",
       directory("checkpoint_#", "policies/p/policy_state.pkl", "algorithm_state.pkl", "rllib_checkpoint.json"),
       """w checkpoint_{k:06}/policies/p/policy_state.pkl 200; w checkpoint_{k:06}/learner/learner_state.json
       w checkpoint_{k:06}/algorithm_state.pkl 200
       w checkpoint_{k:06}/rllib_checkpoint.json
       done""", step=1, beside=["log result.json 2000", "row progress.csv 2000", "over experiment_state-2026.json 5000"])
layout("Dreamer", "danijar/dreamerv3: one checkpoint, replay in files", lambda v: fixed("checkpoint.ckpt")(v) and
       (all(v.load(f"replay/20261122T{i:06}-{i}-0-1024.npz") for i in range(1,
       6 * fixed("checkpoint.ckpt")(v) + 1)) and fixed("checkpoint.ckpt")(v)),
       ";".join(f"w replay/20261122T{{k*6-6+{i}:06}}-{{k*6-6+{i}}}-0-1024.npz 5; z 900" for i in range(1, 7)) + "; "
       "t checkpoint.ckpt 200; done",
       train=1, beside=["log metrics.jsonl 900"])
layout("kohya sd-scripts", "kohya-ss/sd-scripts: model, and its state",
       newest("last-#.safetensors", "last-#-state/optimizer.bin", "last-#-state/random_states_0.pkl"),
       "w last-{k:06}.safetensors 200; w last-{k:06}-state/model.safetensors 200; w last-{k:06}-state/optimizer.bin 400; "
       "w last-{k:06}-state/random_states_0.pkl; done; ?k>2 rm last-{k-2:06}-state; ?k>2 rm last-{k-2:06}.safetensors", step=1)
layout("TF CheckpointManager", "tensorflow/tensorflow: data, index, then checkpoint",
       pointer("checkpoint", "#.data-00000-of-00001", "#.index"),
       """w ckpt-{k}.data-00000-of-00001 300; w ckpt-{k}.index 5; textt checkpoint ckpt-{k}; done
       ?k>3 rm ckpt-{k-3}.index; ?k>3 rm ckpt-{k-3}.data-00000-of-00001""", beside=["log events.out.tfevents.1.h 900"])
layout("Keras ModelCheckpoint", "keras-team/keras: weights by epoch",
       newest("weights.#.keras"), "w weights.{k:02}.keras 500; done", beside=["log training.csv 1000"])
layout("XGBoost TrainingCheckPoint", "dmlc/xgboost: model_N.ubj", newest("model_#.ubj"), "w model_{k*5}.ubj 30; done", train=2, saves=15)
layout("LightGBM snapshots", "microsoft/LightGBM: model.txt.snapshot_iter_N",
       newest("model.txt.snapshot_iter_#"), "w model.txt.snapshot_iter_{n} 30; done", train=2, saves=15)
layout("spaCy train", "explosion/spaCy: model-last, model-best",
       fixed("model-last/meta.json", "model-last/ner/model", "model-last/vocab/vectors"),
       """w model-last/ner/model 200; w model-last/vocab/vectors 60; w model-last/meta.json; done
       ?best w model-best/ner/model 200, w model-best/vocab/vectors 60, w model-best/meta.json""")
layout("gensim", "piskvorky/gensim: arrays beside the model", fixed("d2v.model", "d2v.model.dv.vectors.npy", "d2v.model.wv.vectors.npy"),
       "w d2v.model.dv.vectors.npy 200; w d2v.model.wv.vectors.npy 200; w d2v.model 20; done")
layout("mlx-lm LoRA", "ml-explore/mlx-lm: adapters, and a numbered copy", fixed("adapters.safetensors"),
       "w adapters.safetensors 60; w {n*10:07}_adapters.safetensors 60; done", start="text adapter_config.json x")
layout("nnU-Net", "MIC-DKFZ/nnUNet: latest, best, progress.png", fixed("checkpoint_latest.pth"),
       "?k%2 w checkpoint_latest.pth 500; ?k%2 done; ?best w checkpoint_best.pth 500; "
       "w progress.png 60", beside=["log training_log.txt 900"], train=10, saves=12)
layout("pix2pix", "junyanz/pytorch-CycleGAN-and-pix2pix: latest pair and epochs", fixed("latest_net_G.pth", "latest_net_D.pth"),
       "w latest_net_G.pth 300; w latest_net_D.pth 300; ?k%3==0 w {k}_net_G.pth 300; ?k%3==0 w {k}_net_D.pth 300; done; "
       "text web/index.html p{k}", train=12,
       beside=["row loss_log.txt 700"], saves=9)
layout("mmcv, latest link", "open-mmlab/mmcv: epoch_N.pth and latest.pth",
       pointer("latest.pth", "#"), "w epoch_{k}.pth 300; resym epoch_{k}.pth latest.pth; done",
       beside=["log 20261122.log.json 900"])
layout("PaddlePaddle", "PaddlePaddle: three of one prefix", newest("epoch_#.pdparams", "epoch_#.pdopt", "epoch_#.pdstates"),
       "w epoch_{k}.pdparams 200; w epoch_{k}.pdopt 300; w epoch_{k}.pdstates 5; done")
layout("numbers before the word", "heart 9: 0000020_model.pt",
       newest("#_model.pt", "#_optim.pt"), "w {n:07}_model.pt 200; w {n:07}_optim.pt 200; done")
layout("dates with other separators", "heart 9: 2026_04_11", lambda v: max((v.load(p) for p in v.files if p.endswith(".state")), default=0),
       "w run_2026_04_{k:02}T10.00.00.state 200; done")
layout("Optuna heartbeat, model per trial", "optuna/optuna: trial_N",
       newest("trial_#.pkl"), "w trial_{k}.pkl 60; done", train=6, beside=["log journal.log 500"])
