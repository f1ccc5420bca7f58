#!/bin/bash
# A script of the shell's that saves with cp and mv; loss.csv is appended to by each step. OWN
set -e
out=$1
seconds=${TOY_SECONDS:-0.05}
mkdir -p "$out"
step=0 weight=1
newest=$(find "$out" -maxdepth 1 -name 'ckpt_*.txt' | sort -V | tail -n 1)
if [ -n "$newest" ]; then
	read -r step weight end < "$newest"
	[ "$end" = end ] || exit 3
fi
last=$((step + ${TOY_MORE:-100000}))
work=$(mktemp)
trap 'rm -f "$work"' EXIT
echo "resumed $step"
while [ "$step" -lt "$last" ]; do
	sleep "$seconds"
	step=$((step + 1))
	weight=$(((weight * 1103515245 + step) % 2147483648))
	echo "step $step"
	echo "$step,$weight" >> "$out/loss.csv"
	if [ $((step % 10)) = 0 ]; then
		echo "$step $weight end" > "$work"
		cp "$work" "$out/ckpt_$step.txt.part"
		mv "$out/ckpt_$step.txt.part" "$out/ckpt_$step.txt"
		echo "saved $step"
	fi
done
echo "final $step $weight"
