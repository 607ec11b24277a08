#!/usr/bin/env bash
# Tests what ./reprise VERB --slurm submits and how the batch scripts judge the ends of an execution, with programs in the
# place of Slurm's and of train that only log how they were called.
set -euo pipefail
checkout=$PWD
work=$(mktemp -d "${TEST_TMPDIR:-/tmp}/batch_script.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/root/bazel-bin/pipelines" "$work/bin"
cp -L reprise "$work/root/"
cp -rL slurm "$work/root/slurm"

# train --check fails for the argument BAD. Otherwise train ends as the next line of $ENDS says: STEP CODE, where STEP is
# the last step that it commits ("-" for none), or "end" for a finished run.
cat >"$work/root/bazel-bin/pipelines/train" <<'PROGRAM'
#!/bin/bash
echo "$(basename "$0") $*" >>"$CALLS"
env | grep -E '^(PMI|SLURM_STEP|SLURM_CPU|SLURM_MPI)' >>"$CALLS.inherited"
[[ $* != *--version* ]] || exit 0
if [[ $* == *--check* ]]; then [[ $* != *BAD* ]] && exit 0 || exit 65; fi
read -r step code <"$ENDS"
sed -i 1d "$ENDS"
[[ $step == - ]] || mkdir -p "$OUTPUT/epochs"
[[ $step == [-e]* ]] || echo "segment $step 1 a b c" >>"$OUTPUT/journal.E0001"
[[ $step != end ]] || touch "$OUTPUT/run.h5"
[[ -z ${STATUS:-} ]] || echo "$STATUS" >"$REPRISE_STATUS_FILE"
[[ -z ${HANG:-} ]] || { echo "$code" >"$REPRISE_STATUS_FILE"; exec sleep 60; }
exit "$code"
PROGRAM
for verb in evaluate sweep; do cp "$work/root/bazel-bin/pipelines/train" "$work/root/bazel-bin/pipelines/$verb"; done
cat >"$work/bin/bazel" <<'BAZEL'
#!/bin/sh
echo "bazel $1" >>"$CALLS"
BAZEL
cat >"$work/bin/sbatch" <<'SBATCH'
#!/bin/sh
echo "sbatch $*" >>"$CALLS"
env | grep -E '^(PMI|SLURM_)' >>"$CALLS.inherited"
[ -z "$REPRISE_TASKS" ] || echo "REPRISE_TASKS=$REPRISE_TASKS" >>"$CALLS"
[ -n "$REJECTED" ] && exit 1
cat >"$CALLS.script"
echo '123;cluster'
SBATCH
cat >"$work/bin/srun" <<'SRUN'
#!/bin/bash
while [[ $1 == --* ]]; do options+="$1 "; shift; done
echo "srun ${options}fence=$SLURM_PMIX_FENCE" >>"$CALLS"
exec "$@"
SRUN
cat >"$work/bin/scontrol" <<'SCONTROL'
#!/bin/sh
case $* in
  'write batch_script'*) exit 1 ;;
  'show job'*) printf 'JobId=7 JobName=n\n   StdErr=/x\n   StdOut=/a log of/spaces\n   Power=\n' ;;
  *'show job'*) echo "JobId=7 JobState=${STATE:-RUNNING} Requeue=${REQUEUE:-1} Restarts=${RESTARTS:-0} TimeLimit=1:00:00" ;;
  'show config') echo 'AuthInfo                = socket=/run/munge,cred_expire=40' ;;
  *) echo "scontrol $*" >>"$CALLS" ;;
esac
SCONTROL
chmod +x "$work/bin/"* "$work/root/bazel-bin/pipelines/"*
export PATH=$work/bin:$PATH CALLS=$work/calls ENDS=$work/ends REJECTED='' OUTPUT=$work/run
cd "$work"

failures=0
fail() {
  echo "FAIL: $*"
  cat "$CALLS" "$work/out" "$work/err"
  failures=$((failures + 1))
}
# expect CODE SENTENCE COMMAND...: its exit code, and a sentence on stderr (empty: none is expected).
expect() {
  local code=$1 sentence=$2 got=0
  shift 2
  : >"$CALLS"
  "$@" >"$work/out" 2>"$work/err" || got=$?
  [[ $got == "$code" ]] || fail "$*: exit code $got, expected $code"
  [[ -z $sentence ]] || grep -qF -- "$sentence" "$work/err" || fail "$*: expected '$sentence'"
}
expect_call() { grep -qxF -- "$1" "$CALLS" || fail "expected the call '$1'"; }
expect_no_call() { ! grep -q -- "^$1" "$CALLS" || fail "expected no call of $1"; }
expect_line() { grep -qxF -- "$1" "$2" || { fail "$2: expected the line '$1'" && cat "$2"; }; }

reprise=$work/root/reprise
# ---- Submission.
expect 0 '' "$reprise" train c.toml --output run --slurm --nodes 2 --ranks-per-node 3 --dry-run
expect_call 'train --check --ranks-to-start 6 c.toml --output run'
expect_no_call sbatch
[[ ! -e $OUTPUT ]] || fail "--dry-run made the run's directory"
for line in '#SBATCH --nodes=2' '#SBATCH --ntasks-per-node=3' '#SBATCH --requeue' '#SBATCH --open-mode=append' \
  '#SBATCH --signal=B:USR1@120' '#SBATCH --output=reprise-train-%j.log' "#SBATCH --chdir=$work" \
  'set -- c.toml --output run' 'source "$REPRISE_ROOT/slurm/train.sbatch"'; do
  expect_line "$line" "$work/out"
done
# The printed script may be submitted by hand: Slurm does not make the folder of its log, and the job would fail.
for verb in train sweep; do
  expect 0 '' "$reprise" $verb c.toml --output run --slurm --dry-run
  expect_line "#SBATCH --output=reprise-$verb-%j.log" "$work/out"
  mkdir -p run/slurm
  expect 0 '' "$reprise" $verb c.toml --output run --slurm --dry-run
  expect_line '#SBATCH --output=run/slurm/%j.log' "$work/out"
  rm -r run
done
# Options of sbatch on the command line go before those of the site file.
printf 'PARTITION=big\nTIME=2:00:00\nACCOUNT=ours\n' >options.env
for verb in train evaluate sweep; do
  expect 0 '' "$reprise" $verb c.toml --output run --slurm --site ./options.env --time 1-00:30:00 --partition=a,b \
    --qos high --constraint '[x|y]&z' --mem=8G --dry-run
  for line in '#SBATCH --time=1-00:30:00' '#SBATCH --partition=a,b' '#SBATCH --account=ours' '#SBATCH --qos=high' \
    '#SBATCH --constraint=[x|y]&z' '#SBATCH --mem=8G' 'set -- c.toml --output run'; do
    expect_line "$line" "$work/out"
  done
done
for option in --time --partition --account --qos --constraint --mem --site; do
  expect 64 "$option is for jobs of a Slurm cluster: add --slurm" "$reprise" train c.toml --output run "$option" x
  expect 64 "$option needs a value" "$reprise" train c.toml --output run --slurm "$option"
  expect 64 "$option needs a value" "$reprise" train c.toml --output run --slurm "$option="
  expect 64 "$option needs a value, and --quiet is an option" "$reprise" train c.toml --output run --slurm "$option" --quiet
  expect_no_call sbatch
done
for value in 'a b' 'a#b' 'a"b' "a'b" 'a\b' $'a\nrm -rf x' $'a\e[2J'; do
  expect 64 "without spaces, quotes, backslashes and #" "$reprise" train c.toml --output run --slurm --account "$value"
  ! grep -q $'\e' "$work/err" || fail 'a control character was printed'
  expect_no_call sbatch
done
expect 64 'write it into SBATCH_OPTIONS of a site file, and give that by --site NAME (slurm/README.md)' \
  "$reprise" train c.toml --output run --slurm --gres=gpu:1
expect 64 'write it into CPUS_PER_RANK of a site file' "$reprise" train c.toml --output run --slurm --cpus-per-task 4
expect 64 'here it is --ranks-per-node R' "$reprise" train c.toml --output run --slurm --ntasks-per-node 4
printf '# a comment\nPARTITION=big\n TIME = 2:00:00 \nSTOP_SECONDS=300\nSBATCH_OPTIONS=--exclusive --comment=x *\n' >site.env
expect 0 '' "$reprise" train c.toml --output='a b' --slurm --site ./site.env
expect_line 123 "$work/out"
expect_call 'sbatch --parsable'
for line in '#SBATCH --partition=big' '#SBATCH --time=2:00:00' '#SBATCH --signal=B:USR1@300' '#SBATCH --exclusive' \
  '#SBATCH --comment=x' '#SBATCH *' '#SBATCH --output="a b/slurm/%j.log"' "export REPRISE_SITE=$work/site.env" \
  'set -- c.toml --output=a\ b'; do
  expect_line "$line" "$CALLS.script"
done
[[ -d 'a b/slurm' ]] || fail "the log has no directory"
expect 0 '' "$reprise" evaluate run.h5 --slurm
expect_line '#SBATCH --output=reprise-evaluate-%j.log' "$CALLS.script"
bash -n "$CALLS.script"
# Outside quotes sbatch takes # for a comment and ' for a quotation: in a path they are quoted.
for name in '#x' 'x#y' "o'brien" 'x # y'; do
  expect 0 '' "$reprise" train c.toml --output "$name" --slurm
  expect_line "#SBATCH --output=\"$name/slurm/%j.log\"" "$CALLS.script"
  mkdir -p "in$name"
  expect 0 '' env -C "in$name" "$reprise" train c.toml --output run --slurm
  expect_line "#SBATCH --chdir=\"$work/in$name\"" "$CALLS.script"
done
expect 0 '' "$work/root/slurm/submit.sh" sweep s.toml --output sweep --array 5 --ranks-per-node 2
for line in '#SBATCH --array=0-4' '#SBATCH --output=sweep/slurm/%A_%a.log' 'export REPRISE_TASKS=5' \
  '#SBATCH --ntasks-per-node=2' 'source "$REPRISE_ROOT/slurm/sweep.sbatch"'; do
  expect_line "$line" "$CALLS.script"
done
# What is submitted from within a step of a job inherits nothing of them but where Slurm is.
step=(PMIX_RANK=1 PMIX_NAMESPACE=slurm.pmix.3.0 PMI_RANK=1 PMI_SIZE=2 SLURM_STEP_NUM_TASKS=2 SLURM_STEP_ID=0
  SLURM_MPI_TYPE=pmix SLURM_CPU_BIND=mask_cpu:0x1)
: >"$CALLS.inherited"
expect 0 '' env "${step[@]}" SLURM_JOB_ID=3 SLURM_CPUS_PER_TASK=8 SLURM_CONF=conf "$reprise" train c.toml --output run --slurm
[[ $(<"$CALLS.inherited") == SLURM_CONF=conf ]] || fail "a submission from within a step inherited $(<"$CALLS.inherited")"
# Bad input: one sentence, and nothing is submitted.
expect 65 '' "$reprise" train BAD --output run --slurm
expect_no_call sbatch
expect 64 '--nodes 0: expected a number of nodes, 1 to 99999' "$reprise" train c.toml --output run --slurm --nodes 0
expect 64 'these are 9999800001 ranks; at most 99999 are possible' "$reprise" train c.toml --output run --slurm \
  --nodes 99999 --ranks-per-node 99999
expect 64 '--nodes needs a value' "$reprise" train c.toml --output run --slurm --nodes
expect 64 '--ranks-per-node x: expected a number of ranks' "$reprise" train c.toml --output run --slurm --ranks-per-node=x
expect 64 'with --slurm give --nodes N --ranks-per-node R' "$reprise" train c.toml --output run --slurm --ranks 2
expect 64 '--nodes is for jobs of a Slurm cluster: add --slurm' "$reprise" train c.toml --output run --nodes 2
expect 64 'reproduce does not run as a Slurm job: remove --slurm' "$reprise" reproduce run.h5 --slurm
expect 64 '--array shares the trials of a sweep: train is one job' "$reprise" train c.toml --output run --slurm --array 2
for option in --task=3 '--task 3' --tasks=3 '--tasks 3'; do
  read -ra words <<<"$option"
  expect 64 "--array 4 gives each of its tasks its own --task and --tasks: remove ${words[0]%%=*}" \
    "$reprise" sweep s.toml --output run "${words[@]}" --slurm --array 4
  expect_no_call sweep
done
expect 0 '' "$reprise" sweep s.toml --output run --task 1 --tasks 3 --slurm --dry-run
expect 64 'leave out --, and write ./-NAME for a file -NAME' "$reprise" train --slurm --output run -- c.toml
expect_no_call train
expect 64 "slurm/sites/nowhere.env cannot be read" "$reprise" train c.toml --output run --slurm --site nowhere
REJECTED=1 expect 74 'give --time, --partition or --account, or set TIME, PARTITION, ACCOUNT in a site file for every job' "$reprise" train c.toml --output run --slurm
for name in 'r%j' 'r"j' 'r\j' $'r\nj'; do
  expect 64 'with a percent sign, a double quote, a backslash or a line break' "$reprise" train c.toml --output "$name" --slurm
  expect_no_call sbatch
done
site() { # SENTENCE LINE
  printf 'TIME=1:00\n%s\n' "$2" >bad.env
  expect 64 "$1" "$reprise" train c.toml --output run --slurm --site ./bad.env
  expect_no_call sbatch
}
site "$work/bad.env:2: unknown key PARTITON; the keys of a site file are PARTITION" 'PARTITON=big'
site "$work/bad.env:2: expected KEY=value, found: module load x" 'module load x'
site "$work/bad.env:2: STOP_SECONDS=soon: expected a whole number" 'STOP_SECONDS=soon'
site "$work/bad.env:2: VARIABLES: FOO: expected NAME=value" 'VARIABLES=A=1 FOO'
site "$work/bad.env:2: VARIABLES: 1F=3: expected NAME=value" 'VARIABLES=1F=3'
site "$work/bad.env:2: TIME is set above as well" 'TIME=2:00'
site "$work/bad.env:2: PARTITION: a comment needs a line of its own" 'PARTITION=big # the fast one'
site "$work/bad.env:2: PARTITION: a comment needs a line of its own, and a value has no #" 'PARTITION=big#fast'
for value in '"big"' "'big'" "b'g" 'b\ig'; do
  site "$work/bad.env:2: PARTITION: quotes and backslashes are not allowed" "PARTITION=$value"
done
for example in "$work"/root/slurm/sites/*.env.example; do
  grep -v '^PROGRAMS=' "$example" >example.env
  expect 0 '' "$reprise" train c.toml --output run --slurm --dry-run --site ./example.env
done
rm -rf run

# ---- The batch script, as Slurm starts it.
export SLURM_JOB_ID=7 SLURM_JOB_NUM_NODES=2 SLURM_NTASKS=4 SLURM_NTASKS_PER_NODE=2 SLURM_JOB_NAME=n SLURM_JOB_PARTITION=p
export REPRISE_ROOT=$work/root
# job RESTARTS CODE SENTENCE ENDS...: an execution of the job.
job() {
  local restarts=$1 code=$2 sentence=$3
  shift 3
  printf '%s\n' "$@" >"$ENDS"
  if ((restarts)); then export SLURM_RESTART_COUNT=$restarts; else unset SLURM_RESTART_COUNT; fi
  RESTARTS=${RESTARTS:-$restarts} expect "$code" "$sentence" bash "$work/root/slurm/train.sbatch" c.toml --output run
}
options='--mpi=pmix --kill-on-bad-exit=1 --nodes=2 --ntasks=4 --ntasks-per-node=2'
job 0 0 '' 'end 0'
expect_call 'train --check --ranks-to-start 4 c.toml --output run'
expect_call "srun $options fence=ring"
expect_call 'train c.toml --output run'
grep -q '^program sha256:' run/slurm/provenance.7.0.txt || fail "provenance: no program"
rm -rf run
# A batch script that was submitted from within a step is no task of that step, and neither is what it runs.
: >"$CALLS.inherited"
export "${step[@]}"
job 0 0 '' 'end 0'
unset "${step[@]%%=*}"
[[ ! -s $CALLS.inherited ]] || fail "a batch script passed on $(<"$CALLS.inherited")"
rm -rf run
# Of the environment only what is on a list is stored: it may hold credentials. What is stored names hosts.
printf 'VARIABLES=OMP_PLACES=cores HF_TOKEN=secret OMPI_MCA_x=secret\nSRUN_OPTIONS=--export=ALL,KEY=secret\nSBATCH_OPTIONS=-x --export K=secret\n' >private.env
SLURM_JWT=secret REPRISE_TOKEN=secret OMPI_MCA_btl_secret=secret UCX_PASSWORD=secret PMIX_SERVER_URI=secret REPRISE_SITE=./private.env \
  SLURM_JOB_NODELIST=$'n1\nn2' OMP_PROC_BIND=close job 0 0 '' 'end 0'
! grep -rq secret run || fail "stored: $(grep -r secret run)"
for line in 'SLURM_JOB_ID=7' "SLURM_JOB_NODELIST=\$'n1\nn2'" 'OMP_PROC_BIND=close' 'OMP_PLACES=cores' \
  '  VARIABLES=OMP_PLACES=cores HF_TOKEN=... OMPI_MCA_x=...' '  SRUN_OPTIONS=--export=...' '  SBATCH_OPTIONS=-x --export ...'; do
  expect_line "$line" run/slurm/provenance.7.0.txt
done
for file in run/slurm/provenance.7.0.txt run/slurm/script.7.sh; do
  [[ $(stat -c %a "$file") == 600 ]] || fail "$file has the permissions $(stat -c %a "$file")"
done
rm -rf run
# Errors end the job; "try again" requeues it; the next execution resumes.
for code in 64 65 70 74; do
  job 0 "$code" '' "3 $code"
  expect_no_call 'scontrol requeue'
  rm -rf run
done
job 0 75 'the last committed step is 3; requeueing the job' '3 75'
expect_call 'scontrol requeue 7'
expect_call 'scontrol update JobId=7 StartTime=now+41'
job 1 75 'the last committed step is 5; requeueing the job' '5 137'
expect_call 'train c.toml --output run --resume'
expect_no_call 'train --check'
job 2 0 '' 'end 0'
rm -rf run
# A task of an array requeues itself, not the array.
SLURM_ARRAY_JOB_ID=5 SLURM_ARRAY_TASK_ID=2 job 0 75 'requeueing' '3 75'
expect_call 'scontrol requeue 5_2'
rm -rf run
# A death before the first committed step is tried again at once, but only once.
job 0 0 'before the first committed step: trying once more' '- 139' 'end 0'
rm -rf run
job 0 70 'twice before the first committed step' '- 139' '- 139'
expect_no_call 'scontrol requeue'
rm -rf run
# Three executions without progress end the job.
job 0 75 'requeueing' '4 75'
job 1 75 'requeueing' '4 75'
job 2 75 'requeueing' '4 75'
job 3 70 '3 executions in a row have committed nothing, which is the limit (REQUEUE_LIMIT)' '4 75'
expect_no_call 'scontrol requeue'
rm -rf run
# So do executions that Slurm itself ended.
job 0 75 'requeueing' '4 75'
for execution in 1 2 3; do echo "job 7 execution $execution committed 4" >>run/slurm/executions.7; done
job 4 70 'Slurm has started the job again; 3 executions in a row have committed nothing' '4 75'
expect_no_call srun
rm -rf run
printf 'REQUEUE_LIMIT=1\n' >limit.env
job 0 75 'requeueing' '4 75'
REPRISE_SITE=./limit.env job 1 70 '1 executions in a row' '4 75'
rm -rf run
# An execution that Slurm has ended, or replaced, requeues nothing.
STATE=CANCELLED job 0 75 'Slurm has ended this execution of job 7' '3 75'
expect_no_call 'scontrol requeue'
rm -rf run
RESTARTS=1 job 0 75 'Slurm has ended this execution of job 7' '3 75'
expect_no_call 'scontrol requeue'
rm -rf run
# Where Slurm may not requeue, another job continues.
REQUEUE=0 job 0 75 'the last committed step is 3; job 123 continues' '3 75'
grep -q '^sbatch --parsable .*--dependency=afterany:7 .*--output=/a log of/spaces .*script.7.sh c.toml --output run$' "$CALLS" || fail "no successor"
REPRISE_EXECUTIONS=1 REPRISE_LINEAGE=7 SLURM_JOB_ID=123 job 0 0 '' 'end 0'
expect_call 'train c.toml --output run --resume'
rm -rf run
# A rank that reports its exit code is believed, while srun would wait.
began=$SECONDS
HANG=1 job 0 75 'requeueing' '3 75'
((SECONDS - began < 20)) || fail "the script waited for srun"
rm -rf run
# A sweep goes on as long as a trial of it has committed something; a task of an array takes its share.
printf '%s\n' '- 75' >"$ENDS"
mkdir -p run/trials/{a,b}
for trial in a b; do echo "segment 2 1 a b c" >run/trials/$trial/journal.E0001; done
sweep=(bash "$work/root/slurm/sweep.sbatch" s.toml --output run --teams 2)
expect 75 'requeueing' env SLURM_ARRAY_JOB_ID=5 SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_MAX=3 "${sweep[@]}"
expect_call 'sweep s.toml --output run --teams 2 --task 1 --tasks 4'
# Where Slurm may not requeue, the task continues in an array of this task alone, with the arguments that it began with.
printf '%s\n' '- 75' >"$ENDS"
REQUEUE=0 expect 75 'job 123 continues' env SLURM_ARRAY_JOB_ID=5 SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_MAX=3 "${sweep[@]}"
grep -q '^sbatch .*--dependency=afterany:5_1 .*--array=1 .*script.7.sh s.toml --output run --teams 2$' "$CALLS" || fail "no successor"
expect_call 'REPRISE_TASKS=4'
for execution in 1 2 3; do
  printf '%s\n' '- 75' >"$ENDS"
  echo "segment $((2 + execution)) 1 a b c" >>run/trials/b/journal.E0001
  RESTARTS=$execution expect 75 'requeueing' env SLURM_RESTART_COUNT=$execution "${sweep[@]}"
done
rm -rf run
# A trial that always kills its process is given up by the sweep, before the job is.
mkdir -p run/trials/a
echo 'died 000000ab -1 alone' >run/trials/a/attempts.log
for execution in 0 1 2 3 4; do
  printf '%s\n' '- 137' '- 137' >"$ENDS"
  RESTARTS=$execution expect 75 'requeueing' env SLURM_RESTART_COUNT=$execution "${sweep[@]}"
  echo 'died 000000ab -1 alone' >>run/trials/a/attempts.log
done
rm -rf run
# A rank that has ended well does not hide the error of another one.
STATUS=0 job 0 74 '' '3 74'
rm -rf run
# Another job does not take a run over unasked, nor does one with the same number on another cluster.
mkdir -p run/epochs run/slurm
echo 'job 7 execution 0 committed none' >run/slurm/executions.7
job 0 0 '' 'end 0'
expect_call 'train c.toml --output run'
rm -rf run
mkdir -p run/epochs
job 1 0 '' 'end 0'
expect_call 'train --check --ranks-to-start 4 c.toml --output run'
expect_call 'train c.toml --output run'
rm -rf run
# A job that was submitted by sbatch itself takes no "--" either: it would hide the options that the job adds.
expect 64 'leave out --, and write ./-NAME for a file -NAME' bash root/slurm/train.sbatch --output run -- c.toml
expect_no_call train
# Nor an empty argument, or an option in the place of a folder.
expect 64 'an argument is empty' bash root/slurm/train.sbatch '' --output run
expect 64 'an argument after --output is empty' bash root/slurm/train.sbatch c.toml --output ''
for arguments in '--output --quiet' '--output=--quiet' '--output= --quiet'; do
  read -ra words <<<"$arguments"
  expect 64 '--output needs the name of a folder' bash root/slurm/train.sbatch c.toml "${words[@]}"
  expect_no_call train
done
[[ -z $(find . -name '--*' -o -name 'reprise-train-*') ]] || fail "a refused job has made $(ls -d ./--* reprise-train-*)"
# Outside a job, or of a checkout that is not there, a script says so.
(unset SLURM_JOB_ID && expect 64 'this is a batch script: submit it by sbatch' bash root/slurm/train.sbatch c.toml)
(export REPRISE_ROOT=/nowhere && expect 64 '/nowhere/slurm/lib.sh is missing' bash root/slurm/evaluate.sbatch run.h5)
(export REPRISE_PROGRAMS=/nowhere && expect 64 '/nowhere/train is missing' bash root/slurm/train.sbatch c.toml --output run)
cd "$checkout"
((failures == 0)) && echo "all as expected"
