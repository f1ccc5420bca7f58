"""The layouts: what programs do when they save. First those that were found in public programs, then the shapes that tests have named."""
import layouts_public  # noqa: F401 (it fills LAYOUTS)
from job import directory, either, first_of, fixed, latest_of, layout, most_of, newest, pointer
from world import Mixture

HF = ("config.json", "model.safetensors", "optimizer.pt", "scheduler.pt", "rng_state.pth", "trainer_state.json")

# --- numbered

layout("numbered file, csv", "many scripts", newest("ckpt_#.pt"), "w ckpt_{n}.pt 300; done", beside=["row metrics.csv 1000"])
layout("numbered file by rename, jsonl", "many scripts", newest("ckpt-#.pt"), "t ckpt-{n}.pt 300; done", beside=["log metrics.jsonl 500"])
layout("hf trainer", "idioms/hf_trainer.py", directory("checkpoint-#", *HF),
       ";".join(f"w checkpoint-{{n}}/{name} 200" for name in HF) + "; done; ?k>2 rm checkpoint-{o(2)}",
       beside=["log runs/events.out.tfevents.1.h.1.0 1000"])
TWO = newest("model-#.bin", "optimizer-#.bin")
layout("two files 5 s apart", "idioms/two_files_late.py", TWO, "w model-{n}.bin 300; z 5000; w optimizer-{n}.bin 300; done")
layout("two files 2.5 s apart, 1 s of training", "heart", TWO, "w model-{n}.bin 300; z 2500; w optimizer-{n}.bin 300; done", train=1)
layout("two files 8 s apart, 8 s of training", "heart", TWO, "w model-{n}.bin 300; z 8000; w optimizer-{n}.bin 300; done", train=8)
layout("two files, any gap up to 12 s", "heart, attack", TWO,
       "w model-{n}.bin 300; z {gap} exactly; w optimizer-{n}.bin 300; done")
layout("every fourth save fails after its first file", "heart, attack", TWO,
       "w model-{n}.bin 300; z 2000; ?k%4==3 rm model-{n}.bin; ?k%4!=3 w optimizer-{n}.bin 300; ?k%4!=3 done", saves=10)
layout("sibling directories", "idioms/sibling_directories.py", newest("model/step-#.pt", "optimizer/step-#.pt", "meta/step-#.json"),
       """w model/step-{n}.pt 100; z 2500; w optimizer/step-{n}.pt 100; w meta/step-{n}.json; done
       ?k>3 rm model/step-{o(3)}.pt; ?k>3 rm optimizer/step-{o(3)}.pt; ?k>3 rm meta/step-{o(3)}.json""")
layout("state directory beside the model", "idioms/state_beside_model.py",
       newest("lora-#.bin", "lora-#-state/optimizer.bin", "lora-#-state/random.pkl"),
       "w lora-{n:06}.bin 100; z 2500; w lora-{n:06}-state/optimizer.bin 50; w lora-{n:06}-state/random.pkl 50; done")
layout("numbered directories often", "idioms/numbered_directories_often.py", directory("step_#", "model.bin", "trainer.json"),
       "w step_{n:06}/model.bin 10; w step_{n:06}/trainer.json 5; done; ?k>5 rm step_{o(5):06}", train=0.1, saves=60)
layout("numbered files often", "idioms/numbered_files_often.py", newest("model_#.txt"), "w model_{n}.txt 10; done", train=0.1, saves=60)
layout("rotation of directories", "idioms/rotation.py", directory("step-#", "model.pt", "optimizer.pt", "scheduler.pt"),
       "w step-{n}/model.pt 50; w step-{n}/optimizer.pt 50; w step-{n}/scheduler.pt 50; done; ?k>2 rm step-{o(2)}")
layout("rotation before the save", "many scripts", directory("step-#", "model.pt", "optimizer.pt"),
       "?k>2 rm step-{o(2)}; w step-{n}/model.pt 300; w step-{n}/optimizer.pt 300; done")
layout("keep one: delete, then write", "heart", newest("epoch_#.pt"), "?k>1 rm epoch_{o(1)}.pt; z 20; w epoch_{n}.pt 1000; done", step=1)
layout("keep one: write, then delete", "many scripts", newest("epoch_#.pt"), "w epoch_{n}.pt 1000; done; ?k>1 rm epoch_{o(1)}.pt", step=1)
layout("sharded, with an index", "idioms/sharded.py",
       directory("checkpoint-#", *[f"model-{i:05}-of-00004.bin" for i in range(1, 5)], "model.bin.index.json"),
       ";".join(f"w checkpoint-{{n}}/model-{i:05}-of-00004.bin 1000" for i in range(1, 5)) + "; w checkpoint-{n}/model.bin.index.json; "
       "done")


def elastic(view):
    found = sorted({int(p.split("/")[0][5:]) for p in view.files if p.startswith("step-")})
    shards = [p for p in view.files if found and p.startswith(f"step-{found[-1]}/shard")]
    return view.equal(*shards, f"step-{found[-1]}/index.json") if found else 0


layout("elastic shards 4, 2, 3", "heart, attack", elastic,
       """?1 w step-{n}/shard-0.pt 500; w step-{n}/shard-1.pt 500; ?k%3!=1 w step-{n}/shard-2.pt 500; ?k%3==0 w step-{n}/shard-3.pt 500
       w step-{n}/index.json; done""")
layout("fewer files in the later directories", "a job whose first save alone has more",
       newest("step-#/a.pt", "step-#/b.pt"), "w step-{n}/a.pt 200; w step-{n}/b.pt 200; ?k==1 w step-{n}/c.pt 200; done", train=3)
layout("parts in numbered directories", "heart", directory("step-#", "model_1.pt", "model_2.pt", "model_3.pt"),
       "w step-{n}/model_1.pt 200; w step-{n}/model_2.pt 200; w step-{n}/model_3.pt 200; done")
layout("evaluated 2 s later", "heart", directory("checkpoint-#", "model.pt", "optimizer.pt"),
       """w checkpoint-{n}/model.pt 200; w checkpoint-{n}/optimizer.pt 200; done
       & z 2000, w checkpoint-{n}/eval_results.json, w checkpoint-{n}/logits.npz 2000""")
layout("evaluated 15 s later", "idioms/evaluates_later.py", directory("checkpoint-#", "model.pt", "optimizer.pt"),
       """w checkpoint-{n}/model.pt 200; w checkpoint-{n}/optimizer.pt 200; done
       & z 15000, w checkpoint-{n}/eval_results.json, w checkpoint-{n}/logits.npz 2000""")
layout("evaluated by a child process", "heart", directory("checkpoint-#", "model.pt", "optimizer.pt"),
       "w checkpoint-{n}/model.pt 200; w checkpoint-{n}/optimizer.pt 200; done; & 7: z 3000, 7: w checkpoint-{n}/predictions.npz 1000")
layout("full state every fourth save", "heart, attack", newest("model_#.pt"),
       "w model_{n}.pt 300; ?k%4==0 z 2000; ?k%4==0 w optim_{n}.pt 300; done")
layout("epochs and steps", "heart, attack", most_of(newest("step_#.pt", "step_#.opt"), newest("epoch_#.pt", "epoch_#.sched")),
       """w step_{n}.pt 300; w step_{n}.opt 300; ?k%3 done; ?k%3==0 z 300; ?k%3==0 w epoch_{k//3}.pt 300
       ?k%3==0 w epoch_{k//3}.sched 300; ?k%3==0 done""", train=10, saves=9)
layout("replay chunks", "idioms/replay_chunks.py",
       lambda v: newest("ckpt_#.pt")(v) and all(v.load(f"replay_{(i - 1) * 10}_{i * 10}.pt") for i in range(1, newest("ckpt_#.pt")(v) + 1))
       and newest("ckpt_#.pt")(v), "w replay_{o(1)}_{n}.pt 100; w ckpt_{n}.pt 100; done")
layout("dates in names", "idioms/hydra_outputs.py", lambda v: max((v.load(p) for p in v.files if p.endswith("state.pkl")), default=0),
       "w 2026-04-11/10-{k:02}-00/state.pkl 100; w 2026-04-11/10-{k:02}-00/config.yaml; done", beside=["log 2026-04-11/train.log 700"])
layout("emergency save, then exit 1", "heart", most_of(newest("ckpt_#.pt"), fixed("emergency.pt")),
       "?k<5 w ckpt_{n}.pt 300; ?k==5 w emergency.pt 300; done; ?k==5 fail", saves=5)

layout("numbered pairs, never quiet", "faults W7", TWO, "w model-{n}.bin 50; z 300; w optimizer-{n}.bin 50; done", train=0.5, saves=30)
layout("beside a pretrained model", "idioms/beside_pretrained.py", directory("checkpoint-#", "model.safetensors", "optimizer.pt"),
       "w checkpoint-{n}/model.safetensors 200; w checkpoint-{n}/optimizer.pt 300; done",
       start="w config.json; w model.safetensors 300; w tokenizer.json 20")
layout("copied and moved by a shell", "idioms/copy_and_move.sh", newest("model_#.bin"),
       "8: w model_{n}.bin.part 300; 9: mv model_{n}.bin.part model_{n}.bin; done", beside=["row loss.csv 700"])
layout("renamed from outside", "idioms/renamed_from_outside.py", newest("ckpt-#.bin"), "into ckpt-{n}.bin 400; done")
layout("a directory for each part of the state", "idioms/state_directories.py",
       newest("step_#/model/weights.npz", "step_#/optimizer/state.npz", "step_#/loader/state.json"),
       "w step_{n}/model/weights.npz 200; w step_{n}/optimizer/state.npz 300; w step_{n}/loader/state.json; done; ?k>3 rm step_{o(3)}")
layout("final model beside the last", "idioms/final_model.py", newest("ckpt-#.pt"), "w ckpt-{n}.pt 300; done; ?k==7 w model_final.pt 300")

# --- names that stay

layout("in place always", "idioms/in_place_always.py", fixed("last.pkl"), "w last.pkl 500; done", train=0.5, saves=20)
layout("in place, 20 s", "many scripts", fixed("last.pkl"), "w last.pkl 500; done")
layout("in place, 20 s, half a kilobyte of text", "many scripts", fixed("state.json"), "w state.json; done")
layout("gensim, three in place", "idioms/gensim_word2vec.py", fixed("w2v.wv.vectors.npy", "w2v.syn1neg.npy", "w2v.model"),
       "w w2v.wv.vectors.npy 100; w w2v.syn1neg.npy 100; w w2v.model 100; done")
layout("joblib in place", "idioms/joblib_in_place.py", fixed("study.joblib", "rng.joblib"), "w study.joblib 300; w rng.joblib 20; done")
layout("fixed set without a pause", "heart", fixed("last.bin", "opt.bin"), "w last.bin 100; w opt.bin 100; done", train=0, saves=60)
PAIR = fixed("net_G.pth", "net_D.pth")
layout("pair in place, 3 s apart of 20 s", "heart", PAIR, "w net_G.pth 200; z 3000; w net_D.pth 200; done")
layout("pair in place, 8 s apart of 16 s", "heart", PAIR, "w net_G.pth 200; z 8000; w net_D.pth 200; done", train=8)
layout("pair in place, 12 s apart of 16 s", "heart, attack", PAIR, "w net_G.pth 200; z 12000; w net_D.pth 200; done", train=4)
layout("pair in place, any gap up to 12 s", "heart, attack", PAIR,
       "w net_G.pth 200; z {gap} exactly; w net_D.pth 200; done")
layout("pair renamed one by one, back to back", "heart, attack", fixed("model.pt", "optim.pt"), "t model.pt 100; t optim.pt 100; done",
       train=0, saves=40)
layout("pair written beside, renamed at the end", "many scripts", fixed("model.pt", "optim.pt"),
       "w model.pt.new 300; w optim.pt.new 300; mv model.pt.new model.pt; mv optim.pt.new optim.pt; done")
layout("model, and a buffer at half time", "heart", fixed("last.pt"), "w last.pt 300; done; z 10000; w stats.pkl 300", train=10)
layout("parts without a word, in place", "heart", fixed(*[f"pack-{i}.pkl" for i in range(1, 5)]),
       ";".join(f"w pack-{i}.pkl 300" for i in range(1, 5)) + "; done")
layout("last and best", "idioms/last_and_best.py", fixed("weights/last.pt"),
       "row results.csv; w weights/last.pt 300; ?best w weights/best.pt 300; done", start="text args.yaml lr:1")
layout("state.json in each step, numbers beside", "idioms/async_saver.py", newest("ckpt-#.pkl"),
       "& w ckpt-{n}.pkl 2000, done", train=4, beside=["over state.json 50"])
layout("history rewritten, weights numbered", "idioms/history_json.py", newest("weights-#.pkl"), "w weights-{n}.pkl 50; done", train=4,
       beside=["over history.json 700"])
layout("async fixed set, 8 s of 10 s", "heart, attack", fixed("model.pt", "optim.pt"),
       "& w model.pt.tmp 4000, w optim.pt.tmp 4000, mv model.pt.tmp model.pt, mv optim.pt.tmp optim.pt, done", train=10,
       beside=["over progress.json 2000"])
layout("optimizer.pt before its number", "heart", newest("model_#.pt", "optimizer.pt"),
       "w optimizer.pt 500; z 1500; w model_{n}.pt 500; done")
layout("directory emptied, then written", "heart", fixed("model-last/meta", "model-last/ner", "model-last/vocab"),
       "?k>1 rm model-last; w model-last/meta 50; w model-last/ner 50; z 600; w model-last/vocab 50; done")
layout("keras backup", "idioms/keras_backup.py", fixed("backup/training_metadata.json", "backup/latest.weights.npz"),
       "w backup/latest.weights.npz 300; w backup/training_metadata.json; done", beside=["log training.csv 1000"])
layout("keras backup, removed at the end", "faults C1", fixed("backup/training_metadata.json", "backup/latest.weights.npz"),
       "?k<6 w backup/latest.weights.npz 300; ?k<6 w backup/training_metadata.json; ?k<6 done; ?k==6 w final.keras 500", saves=6,
       beside=["log training.csv 1000"])
layout("two restart files in turn", "faults W7", latest_of("a.rst", "b.rst"), "?k%2 w b.rst 1000; ?k%2==0 w a.rst 1000; done")
layout("two names in turn, every 3 s", "as above", latest_of("a.pt", "b.pt"), "?k%2 w a.pt 1000; ?k%2==0 w b.pt 1000; done", train=3)
layout("two restart files in turn, dump open", "faults W3", latest_of("tmp.restart.1", "tmp.restart.2"),
       "?k%2 w tmp.restart.1 500; ?k%2==0 w tmp.restart.2 500; done", beside=["open dump.lammpstrj 400", "open log.lammps 900"])
layout("two jobs in one directory", "heart, attack", fixed("a/model.pt", "a/opt.pt"), "w a/model.pt 700; w a/opt.pt 700; done",
       other=("w b/model.pt 700; w b/opt.pt 700", 13, 9))
layout("swap through .old", "heart 9",
       first_of(fixed("state"), fixed("state.old")), "w state.new 400; ?k>1 mv state state.old; mv state.new state; done")
layout("old one to .bak, then anew in place", "many programs", latest_of("state.chk", "state.chk.bak"),
       "?k>1 mv state.chk state.chk.bak; w state.chk 600; done")
layout("three generations by rename", "many programs", latest_of("restart", "restart.1", "restart.2"),
       "?k>2 mv restart.1 restart.2; ?k>1 mv restart restart.1; w restart 400; done")
layout("into the file as it is", "h5py, memmap", fixed("state.h5"), "in state.h5 600; done")
layout("a name written twice in one save", "heart 9", fixed("index.json", "weights.bin"),
       "w index.json; w weights.bin 400; w index.json; done")

layout("copied in by rsync", "rsync: a dot, six letters, renamed", newest("ckpt_#.pt"), "8: t ckpt_{n}.pt 700 .ckpt_{n}.pt.{h()[:6]}; done")

# --- pointers, links, markers

MEGATRON = pointer("latest_checkpointed_iteration.txt", "iter_#/model_optim_rng.ckpt", "iter_#/distrib_optim.ckpt")
layout("pointer written last", "idioms/latest_pointer.py", MEGATRON,
       """w iter_{n:07}/model_optim_rng.ckpt 200; w iter_{n:07}/distrib_optim.ckpt 200
       text latest_checkpointed_iteration.txt {n:07}; done""")
layout("pointer written amid", "idioms/early_pointer.py", pointer("latest", "#/model.bin", "#/optimizer.bin"),
       "w step_{n}/model.bin 100; text latest step_{n}; z 1500; w step_{n}/optimizer.bin 100; done")
layout("pointer 3 s later", "heart",
       pointer("last_checkpoint", "#"), "w model_{n:07}.pth 300; z 3000; text last_checkpoint model_{n:07}.pth; done")
layout("symlink to a file", "idioms/symlink_latest.py", pointer("latest.pt", "#"), "w epoch_{n}.pt 300; sym epoch_{n}.pt latest.pt; done")
LINKED = pointer("latest", "#/model.pt", "#/optim.pt")
layout("directory, symlink 0.2 s later", "heart",
       LINKED, "w iter_{n}/model.pt 200; w iter_{n}/optim.pt 200; z 200; resym iter_{n} latest; done")
layout("directory, symlink 3 s later", "heart",
       LINKED, "w iter_{n}/model.pt 200; w iter_{n}/optim.pt 200; z 3000; resym iter_{n} latest; done")
layout("hard links", "idioms/timm_links.py", fixed("last.pth.tar"),
       """w tmp.pth.tar 300; rm last.pth.tar; mv tmp.pth.tar last.pth.tar; ln last.pth.tar checkpoint-{n}.pth.tar
       ?k>3 rm checkpoint-{o(3)}.pth.tar; done""", step=1)
layout("directory by rename", "idioms/orbax_directory.py", directory("#", "state/manifest", "_METADATA"),
       """w {n}.tmp-{k}/state/{h()} 50; w {n}.tmp-{k}/state/{h()} 50; w {n}.tmp-{k}/state/manifest; w {n}.tmp-{k}/_METADATA
       mv {n}.tmp-{k} {n}; done; ?k>3 rm {o(3)}""")
layout("marker written last", "many scripts", newest("step_#/model.bin", "step_#/optim.bin", needs="step_#/DONE"),
       "w step_{n}/model.bin 300; w step_{n}/optim.bin 300; text step_{n}/DONE ok; done")
layout("marker 3 s later", "faults C5", newest("step_#/model.bin", "step_#/optim.bin", needs="step_#/COMPLETE"),
       "w step_{n}/model.bin 300; w step_{n}/optim.bin 300; z 3000; text step_{n}/COMPLETE ok; done")


def unfinished(view):
    found = sorted({int(p.split("/")[0][5:]) for p in view.files if p.startswith("step_") and "/" in p})
    found = [n for n in found if not view.has(f"step_{n}/INCOMPLETE")]
    return view.equal(f"step_{found[-1]}/model.bin", f"step_{found[-1]}/optim.bin") if found else 0


layout("marker of incompleteness, removed last", "heart 8", unfinished,
       "text step_{n}/INCOMPLETE x; w step_{n}/model.bin 300; w step_{n}/optim.bin 300; rm step_{n}/INCOMPLETE; done")

# --- several processes, and what is written beside

layout("two ranks, a barrier", "idioms/two_ranks.py", directory("step-#", "rank0.bin", "rank1.bin"),
       "w step-{n}/rank0.bin 300; z 400; 2: w step-{n}/rank1.bin 300; done")
layout("two ranks at once", "many scripts", directory("step-#", "rank0.bin", "rank1.bin"),
       "& w step-{n}/rank0.bin 300; & 2: w step-{n}/rank1.bin 900; join; done")
layout("four ranks in directories of their own", "many scripts", newest("rank0/step-#.bin", *[f"rank{i}/step-#.bin" for i in (1, 2, 3)]),
       "& w rank0/step-{n}.bin 300; & 2: w rank1/step-{n}.bin 500; & 3: w rank2/step-{n}.bin 700; & 4: w rank3/step-{n}.bin 900; join; "
       "done")
layout("two ranks, fixed names", "many scripts", fixed("rank0.bin", "rank1.bin"), "& w rank0.bin 300; & 2: w rank1.bin 800; join; done")


def lagging(view):
    for n in range(200, 0, -10):
        if view.has(f"step-{n}/rank0.bin") and view.has(f"step-{n}/rank1.bin"):
            return view.equal(f"step-{n}/rank0.bin", f"step-{n}/rank1.bin")
    return 0


layout("two ranks, one lags 12 s", "heart", lagging, "w step-{n}/rank0.bin 300; & z 12000, 2: w step-{n}/rank1.bin 300, done")
layout("saves in a child process", "faults C6", newest("ckpt-#.pt"), "& 9: t ckpt-{n}.pt 3000, done", train=8)
layout("writes stream of replay", "idioms/replay_stream.py",
       lambda v: (lambda k: k if all(v.load(f"replay/{i:06}.npz") for i in range(1, 8 * k + 1)) else 0)(fixed("checkpoint.pkl")(v)),
       ";".join(f"w replay/{{k*8-8+{i}:06}}.npz 4; z 250" for i in range(1, 9)) + "; w checkpoint.pkl 100; done", train=1)
layout("catboost", "idioms/catboost_train_dir.py", fixed("experiment.cbsnapshot"), "w experiment.cbsnapshot 20; done", train=0.6, saves=30,
       beside=["log learn_error.tsv 100", "log time_left.tsv 100", "open catboost_training.json 100"])
layout("wandb offline", "idioms/wandb_offline.py", newest("model-#.pkl"), "w model-{n}.pkl 100; done",
       start="text wandb/run-1a/files/config.yaml x; sym run-1a wandb/latest-run",
       beside=["over wandb/run-1a/files/wandb-summary.json 1000", "open wandb/run-1a/run-1a.wandb 300",
       "log wandb/run-1a/files/output.log 500"])
layout("mlflow", "idioms/mlflow_file_store.py", newest("mlruns/0/6a1f0c/artifacts/model_#.pkl"),
       "textt mlruns/0/6a1f0c/meta.yaml at{k}; w mlruns/0/6a1f0c/artifacts/model_{n}.pkl 100; done",
       beside=["row mlruns/0/6a1f0c/metrics/loss 200"])
layout("pictures beside a pair", "heart, pix2pix", fixed("latest_net_G.pth", "latest_net_D.pth"),
       """w web/images/epoch{k:03}_fake.png 4; text web/index.html page{k}; z 4000; w web/images/epoch{k:03}_real.png 4; z 4000
       w latest_net_G.pth 300; w latest_net_D.pth 300; ?k%3==0 w {k//3}_net_G.pth 300; ?k%3==0 w {k//3}_net_D.pth 300; done""",
       train=4, beside=["row loss_log.txt 700"], saves=9)
layout("self play: examples, then the accepted", "heart, alphazero", fixed("best.pth.tar"),
       """w checkpoint_{k}.pth.tar.examples 200; w temp.pth.tar 200; z 6000
       ?r.random()<.6 w checkpoint_{k+1}.pth.tar 300, w best.pth.tar 300, done""", train=10, saves=14)
layout("final export, checkpoints moved away", "faults C1", most_of(newest("ckpt-#.pt"), fixed("final/model.safetensors")),
       "?k<6 w ckpt-{n}.pt 300; ?k==6 w final/model.safetensors 500; done; ?k==6 rm ckpt-{o(1)}.pt; "
       "?k==6 text predictions.csv rows", saves=6)
layout("saves when told to end, exit 1", "faults W1",
       first_of(fixed("state.cpt"), newest("s_#.cpt")), "?k%3==0 w state.cpt 300; ?k%3==0 done",
       train=8, term="w state.cpt 300; done")
layout("a text after each save", "faults C4", newest("ckpt_#.pt"), "w ckpt_{n}.pt 300; done; z 1500; text report_{n}.txt loss:{k}")
layout("a save that fails now and then", "faults C3",
       newest("ckpt_#.pkl", tolerant=True), "?k%3==0 half ckpt_{n}.pkl; ?k%3 w ckpt_{n}.pkl 300; ?k%3 done", saves=9)
layout("directories of each cycle, made early", "faults C5",
       newest("cycle_#/state.npz"), "mkdir cycle_{k+1}; w cycle_{k}/state.npz 300; done", step=1)
layout("fewer files each time", "faults C10", newest("s_#/meta", needs="s_#/meta"),
       "?k<4 w s_{n}/c0 50; ?k<3 w s_{n}/c1 50; ?k<2 w s_{n}/c2 50; w s_{n}/c9 50; w s_{n}/meta; done")
layout("git in the directory", "faults W7", fixed("work/state.pkl"),
       "w work/state.pkl 300; w .git/objects/{h()[:2]}/{h()} 2; w .git/index 2; text .git/HEAD ref{k}; done")
layout("zarr tree, partial names", "idioms/zarr_tree.py", pointer("latest.txt", "#/w/0", "#/w/1", "#/w/2", "#/zarr.json"),
       """t s_{n:06}.zarr/zarr.json 0 s_{n:06}.zarr/zarr.{h()}.partial; t s_{n:06}.zarr/w/0 4 s_{n:06}.zarr/w/0.{h()}.partial
       t s_{n:06}.zarr/w/1 4 s_{n:06}.zarr/w/1.{h()}.partial; t s_{n:06}.zarr/w/2 4 s_{n:06}.zarr/w/2.{h()}.partial
       t s_{n:06}.zarr/zarr.json 0 s_{n:06}.zarr/zarr.{h()}.partial; text latest.txt s_{n:06}.zarr; done; ?k>3 rm s_{o(3):06}.zarr""")
