# shellcheck shell=bash
# What the batch scripts of this directory share; they source it. README.md describes what a job does.
#
#   read_site FILE               takes the settings of a site file into site_KEY
#   start_job VERB ARGUMENT...   prepares the job's environment
#   run_until_done               checks the arguments, runs the verb on all ranks, requeues the job; does not return
#
# A job ends with the verb's exit code (0 done, 64 usage, 65 damaged data, 70 internal, 74 input/output). With 75, try
# again, it is requeued first, and goes on after the last committed step.

readonly REPRISE_SITE_KEYS=(
  PARTITION ACCOUNT QOS CONSTRAINT TIME MEMORY CPUS_PER_RANK STOP_SECONDS SBATCH_OPTIONS # of sbatch
  MODULES PROGRAMS VARIABLES MPI SRUN_OPTIONS REQUEUE_LIMIT                              # of the job
)
# What is written of the environment, which may hold credentials: these variables, no others.
readonly REPRISE_RECORDED_VARIABLES=(
  REPRISE_{EXECUTIONS,ISA,LINEAGE,PROGRAMS,REVISION,ROOT,SITE,TASKS}
  SLURM_ARRAY_{JOB_ID,TASK_COUNT,TASK_ID,TASK_MAX,TASK_MIN} SLURM_{CLUSTER_NAME,CPUS_ON_NODE,CPUS_PER_TASK}
  SLURM_JOB_{ACCOUNT,CPUS_PER_NODE,END_TIME,ID,NAME,NODELIST,NUM_NODES,PARTITION,QOS,START_TIME}
  SLURM_{MEM_PER_CPU,MEM_PER_NODE,NTASKS,NTASKS_PER_NODE,PMIX_FENCE,RESTART_COUNT,SUBMIT_DIR,SUBMIT_HOST,TASKS_PER_NODE}
  OMP_{NUM_THREADS,PLACES,PROC_BIND}
  OMPI_MCA_{btl,btl_tcp_if_exclude,btl_tcp_if_include,coll,mtl,oob_tcp_if_exclude,oob_tcp_if_include,osc,pml}
  PMIX_MCA_{gds,psec,ptl} UCX_{NET_DEVICES,TLS}
)
readonly EXIT_OK=0 EXIT_USAGE=64 EXIT_DATA=65 EXIT_INTERNAL=70 EXIT_IO=74 EXIT_RETRY=75

# printable TEXT: prints it with control characters escaped, which could otherwise control a terminal.
printable() {
  local text=$1
  [[ $text != *[[:cntrl:]]* ]] || printf -v text '%q' "$text"
  printf '%s' "$text"
}
slurm_say() { printf 'reprise: %s\n' "$(printable "$*")" >&2; }
slurm_fail() { # CODE SENTENCE
  slurm_say "$2"
  exit "$1"
}

# ---- Sites.

# site KEY DEFAULT: a setting of the site file.
site() {
  local name=site_$1
  printf '%s' "${!name:-$2}"
}

# read_site FILE: lines KEY=value, empty lines and comments. Nothing in it is executed.
read_site() {
  local file=$1 line number=0 key value words word seen=' '
  [[ -f $file && -r $file ]] || slurm_fail $EXIT_USAGE "the site file $file cannot be read; slurm/sites has examples"
  while IFS= read -r line || [[ -n $line ]]; do
    number=$((number + 1))
    [[ $line =~ ^[[:space:]]*(#|$) ]] && continue
    [[ $line =~ ^[[:space:]]*([A-Za-z_]+)[[:space:]]*=[[:space:]]*(.*[^[:space:]])?[[:space:]]*$ ]] ||
      slurm_fail $EXIT_USAGE "$file:$number: expected KEY=value, found: $line"
    key=${BASH_REMATCH[1]} value=${BASH_REMATCH[2]}
    [[ " ${REPRISE_SITE_KEYS[*]} " == *" $key "* ]] ||
      slurm_fail $EXIT_USAGE "$file:$number: unknown key $key; the keys of a site file are ${REPRISE_SITE_KEYS[*]}"
    [[ $seen != *" $key "* ]] || slurm_fail $EXIT_USAGE "$file:$number: $key is set above as well"
    seen+="$key "
    [[ $value != *'#'* ]] ||
      slurm_fail $EXIT_USAGE "$file:$number: $key: a comment needs a line of its own, and a value has no #"
    [[ $value != *[\"\'\\]* ]] || slurm_fail $EXIT_USAGE "$file:$number: $key: quotes and backslashes are not allowed"
    case $key in
      STOP_SECONDS | REQUEUE_LIMIT | CPUS_PER_RANK)
        [[ $value =~ ^[1-9][0-9]{0,4}$ ]] ||
          slurm_fail $EXIT_USAGE "$file:$number: $key=$value: expected a whole number, 1 to 99999"
        ;;
      VARIABLES)
        read -ra words <<<"$value"
        for word in "${words[@]}"; do
          [[ $word =~ ^[A-Za-z_][A-Za-z0-9_]*= ]] ||
            slurm_fail $EXIT_USAGE "$file:$number: VARIABLES: $word: expected NAME=value"
        done
        ;;
    esac
    printf -v "site_$key" '%s' "$value"
  done <"$file"
}

# find_site NAME: prints the path of the site file that REPRISE_SITE or --site names: a file, or a name in slurm/sites.
find_site() {
  local file=$1
  [[ $file == */* || -e $file ]] || file=$REPRISE_ROOT/slurm/sites/$1.env
  readlink -m "$file"
}

# ---- What a job knows of itself.

# forget_step: a batch script is no task of a step, and has the variables of one only if it was submitted from within it:
# by them a program would take itself for a rank, and srun would take its options.
forget_step() {
  local name
  for name in $(compgen -e); do
    case $name in
      PMIX_MCA_*) ;; # parameters, as those of OMPI_MCA_*
      PMI_* | PMIX_* | OMPI_COMM_WORLD_* | SLURM_STEP* | SLURM_SRUN_COMM_* | SLURM_CPU_BIND* | SLURM_MPI_TYPE)
        unset "$name"
        ;;
    esac
  done
}

# forget_job: what is submitted from within a job is no part of it, but sbatch passes on all variables that it does not
# set itself, such as SLURM_CPUS_PER_TASK.
forget_job() {
  [[ -n ${SLURM_JOB_ID:-} ]] || return 0
  local name
  forget_step
  for name in $(compgen -e); do
    case $name in
      SLURM_CONF | SLURM_CLUSTERS | SLURM_JWT | SLURM_PMIX_*) ;; # sbatch itself needs them
      SLURM_*) unset "$name" ;;
    esac
  done
}

# output_of ARGUMENT...: prints the value of --output, if there is one.
output_of() {
  while (($#)); do
    case $1 in
      --output) printf '%s' "${2:-}" && return ;;
      --output=*) printf '%s' "${1#--output=}" && return ;;
    esac
    shift
  done
}

# check_arguments_of_job ARGUMENT...: a job adds options behind the arguments, where "--" would make them names of
# files; and it makes the folder of --output before the program has checked the arguments.
check_arguments_of_job() {
  local argument previous=''
  for argument; do
    [[ -n $argument ]] || slurm_fail $EXIT_USAGE \
      "an argument${previous:+ after $previous} is empty: perhaps a variable of your shell is not set"
    [[ $argument != -- ]] || slurm_fail $EXIT_USAGE \
      "a job adds options such as --resume behind its arguments: leave out --, and write ./-NAME for a file -NAME"
    if [[ $previous == --output && $argument == -* || $argument == --output=-* || $argument == --output= ]]; then
      slurm_fail $EXIT_USAGE "--output needs the name of a folder; write ./-NAME for a folder -NAME"
    fi
    previous=$argument
  done
}

# start_job VERB ARGUMENT...: sets `verb`, `submitted` (the arguments), `arguments` (those of the program: a task of an
# array adds its share), `output` (the run's directory; evaluate has none), `program`, `ranks`, `records` (the directory
# of the job's own files, which all nodes see), `execution`, counted from 0, and `lineage`, the job that the executions
# began with.
start_job() {
  local module variable modules variables
  verb=$1 output=$(output_of "$@")
  submitted=("${@:2}") arguments=("${@:2}")
  check_arguments_of_job "${arguments[@]}"
  forget_step
  [[ -n ${SLURM_JOB_ID:-} ]] || slurm_fail $EXIT_USAGE "this is a batch script: submit it by sbatch, or use ./reprise $verb --slurm"
  [[ -z ${REPRISE_SITE:-} ]] || read_site "$(find_site "$REPRISE_SITE")"
  read -ra modules <<<"$(site MODULES '')"
  for module in "${modules[@]}"; do
    module load "$module" || slurm_fail $EXIT_USAGE "MODULES: module load $module failed on $(hostname)"
  done
  read -ra variables <<<"$(site VARIABLES '')"
  for variable in "${variables[@]}"; do export "${variable?}"; done
  program=${REPRISE_PROGRAMS:-$(site PROGRAMS "$REPRISE_ROOT/bazel-bin/pipelines")}/$verb
  [[ -x $program ]] || slurm_fail $EXIT_USAGE "$program is missing: build it by bazel build //pipelines:$verb, or set PROGRAMS in a site file"
  ranks=${SLURM_NTASKS:-$((SLURM_JOB_NUM_NODES * ${SLURM_NTASKS_PER_NODE:-1}))}
  # SLURM_RESTART_COUNT is not set in the first execution. A job that may not be requeued continues in another job.
  execution=$((${REPRISE_EXECUTIONS:-0} + ${SLURM_RESTART_COUNT:-0}))
  lineage=${REPRISE_LINEAGE:-$SLURM_JOB_ID}
  records=${output:-$PWD/reprise-$verb-$SLURM_JOB_ID}${output:+/slurm}
  mkdir -p "$records" || slurm_fail $EXIT_IO "$records cannot be made: the job keeps its records there"
  stopping='' srun_pid=''
  trap stop_ranks USR1 TERM
}

# The trials of a sweep that this task of a job array takes, if it is one.
take_share_of_array() {
  [[ -n ${SLURM_ARRAY_TASK_ID:-} ]] || return 0
  # The job that continues a task is an array of it alone, whose last number says nothing of the others.
  export REPRISE_TASKS=${REPRISE_TASKS:-$((SLURM_ARRAY_TASK_MAX + 1))}
  arguments+=(--task "$SLURM_ARRAY_TASK_ID" --tasks "$REPRISE_TASKS")
}

# Asks the ranks to end after the current step. A second such signal would end them at once.
stop_ranks() {
  [[ -z $stopping ]] || return 0
  stopping=yes
  [[ -z $srun_pid ]] || kill -USR1 "$srun_pid" 2>/dev/null || true
}

# recorded_site: the settings of the site file. Values that a site gives to variables of the environment are left out.
recorded_site() {
  local key value word words previous=''
  for key in "${REPRISE_SITE_KEYS[@]}"; do
    value=$(site "$key" '')
    [[ -n $value ]] || continue
    read -ra words <<<"$value"
    value=''
    for word in "${words[@]}"; do
      case $key=$word in
        VARIABLES=*)
          [[ " ${REPRISE_RECORDED_VARIABLES[*]} " == *" ${word%%=*} "* ]] || word="${word%%=*}=..."
          ;;
        *_OPTIONS=--export=*) word="${word%%=*}=..." ;;
        *_OPTIONS=*) [[ $previous != --export ]] || word=... ;;
      esac
      previous=$word
      value+=" $word"
    done
    echo "  $key=${value# }"
  done
}

recorded_environment() {
  local name
  for name in "${REPRISE_RECORDED_VARIABLES[@]}"; do
    [[ ! -v $name ]] || printf '%s=%q\n' "$name" "${!name}"
  done
}

# private_file PATH: makes an empty file that only its owner can read. It may be left by another cluster's job.
private_file() {
  rm -f "$1"
  (umask 077 && : >"$1")
}

# Where, when and from what this execution runs: nothing of it belongs to run.h5.
write_provenance() {
  local file=$records/provenance.$SLURM_JOB_ID.$execution.txt revision=unknown
  local script=$records/script.$SLURM_JOB_ID.sh
  revision=$(git -C "$REPRISE_ROOT" describe --always --abbrev=40 --dirty --exclude '*' 2>/dev/null) || revision=unknown
  export REPRISE_REVISION=$revision
  private_file "$file" || slurm_fail $EXIT_IO "$file cannot be written"
  {
    echo "time $(date -u +%Y-%m-%dT%H:%M:%SZ)"
    echo "job $SLURM_JOB_ID${SLURM_ARRAY_JOB_ID:+ (task $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_JOB_ID)}, execution $execution"
    echo "nodes ${SLURM_JOB_NODELIST:-}, partition ${SLURM_JOB_PARTITION:-}, $ranks ranks"
    echo "directory $PWD"
    echo "command $program$(printf ' %q' "${arguments[@]}")"
    echo "program sha256:$(sha256sum "$program" | cut -d' ' -f1)"
    "$program" --version
    echo "modules ${LOADEDMODULES:-}"
    echo "site ${REPRISE_SITE:-}"
    recorded_site
    recorded_environment
  } >"$file" || slurm_fail $EXIT_IO "$file cannot be written"
  private_file "$script"
  scontrol write batch_script "$SLURM_JOB_ID" "$script" >/dev/null 2>&1 || cp "$0" "$script"
  chmod 600 "$script"
}

# ---- Progress.

is_run() { [[ -e $1/run.h5 || -e $1/epochs ]] || compgen -G "$1/journal.E*" >/dev/null; }

# last_step DIRECTORY: the last committed step of a run (SFT phase included); "end" of a finished run, "none" without one.
last_step() {
  [[ ! -e $1/run.h5 ]] || { echo end && return; }
  { cat "$1"/journal.E* 2>/dev/null || true; } |
    awk '$1 == "segment" && $2 > last { last = $2 } END { print (last > 0 ? last : "none") }'
}

# deaths DIRECTORY: how many attempts at a trial of a sweep have ended with their process (pipelines/sweeps/attempts.h).
deaths() { grep -c '^died ' "$1/attempts.log" 2>/dev/null || true; }

# progress: what the job has committed; for a sweep a digest of its trials' last steps, and of their deaths, which are
# limited; "none" if nothing is committed.
progress() {
  local trial steps=''
  case $verb in
    train) last_step "$output" ;;
    sweep)
      for trial in "$output"/trials/*/; do
        if [[ -e $trial/failure.json ]]; then steps+="$trial failed "; else steps+="$trial $(last_step "$trial") "; fi
        [[ ! -e $trial/attempts.log || $(deaths "$trial") == 0 ]] || steps+="$(deaths "$trial") "
      done
      if [[ "$steps " =~ \ (end|failed|[0-9]+)\  ]]; then sha256sum <<<"$steps" | cut -c1-12; else echo none; fi
      ;;
    *) echo none ;;
  esac
}

# The record of the executions: a line for each that began, with the progress at that time.
record_start() {
  at_start=$(progress)
  echo "job $SLURM_JOB_ID execution $execution time $(date -u +%Y-%m-%dT%H:%M:%SZ) committed $at_start" \
    >>"$records/executions.$lineage"
}

# executions_without_progress NOW: how many of the last executions, this one included, started with the progress NOW.
executions_without_progress() {
  tac "$records/executions.$lineage" | awk -v now="$1" '$NF != now { exit } { ++count } END { print count + 0 }'
}

# stop_without_progress REASON NOW MORE: ends the job after MORE than its limit of such executions.
stop_without_progress() {
  local idle
  idle=$(executions_without_progress "$2")
  ((idle < $(site REQUEUE_LIMIT 3) + $3)) || slurm_fail $EXIT_INTERNAL \
    "$1; $((idle - $3)) executions in a row have committed nothing, which is the limit (REQUEUE_LIMIT): the job is not requeued"
}

# ---- One execution on all ranks.

# run_on_all_ranks ARGUMENT...: sets `code`. Once a rank has reported an exit code other than 0 in the status file, srun
# has a second to end: it would wait for a dead node until Slurm gives that up.
run_on_all_ranks() {
  local status_file=$records/status.$SLURM_JOB_ID.$execution.$attempt rounds_left=5 options
  read -ra options <<<"$(site SRUN_OPTIONS '')"
  [[ -z ${SLURM_NTASKS_PER_NODE:-} ]] || options+=(--ntasks-per-node="$SLURM_NTASKS_PER_NODE")
  [[ -z ${SLURM_CPUS_PER_TASK:-} ]] || options+=(--cpus-per-task="$SLURM_CPUS_PER_TASK")
  # With another order of exchanging addresses (Slurm's own choice), ranks can crash in MPI_Init on busy nodes.
  export SLURM_PMIX_FENCE=${SLURM_PMIX_FENCE:-ring} OMP_NUM_THREADS=1
  export REPRISE_STATUS_FILE=$status_file
  rm -f "$status_file"
  srun --mpi="$(site MPI pmix)" --kill-on-bad-exit=1 --nodes="$SLURM_JOB_NUM_NODES" --ntasks="$ranks" "${options[@]}" \
    "$program" "$@" </dev/null &
  srun_pid=$!
  while kill -0 "$srun_pid" 2>/dev/null && ((rounds_left > 0)); do
    if [[ -s $status_file && $(<"$status_file") != 0 ]]; then rounds_left=$((rounds_left - 1)); fi
    sleep 0.2
  done
  kill -KILL "$srun_pid" 2>/dev/null || true
  code=0
  wait "$srun_pid" 2>/dev/null || code=$?
  srun_pid=''
  if [[ -s $status_file && $(<"$status_file") != 0 ]]; then code=$(<"$status_file"); fi
  rm -f "$status_file"
}

# What the job has begun, it continues; its first execution begins anew unless the arguments have --resume.
run_attempt() {
  local more=()
  if [[ $verb == train && " ${arguments[*]} " != *' --resume '* ]] && is_run "$output"; then
    [[ $begun == no && $attempt == 0 ]] || more=(--resume)
  fi
  run_on_all_ranks "${arguments[@]}" "${more[@]}"
}

run_until_done() {
  local code=$EXIT_RETRY attempt died begun=yes
  write_provenance
  ((execution > 0)) || rm -f "$records/executions.$lineage" # of another cluster, which counted its jobs from 1 as well
  if [[ ! -e $records/executions.$lineage ]]; then
    begun=no
    "$program" --check --ranks-to-start "$ranks" "${arguments[@]}" || exit
  fi
  record_start
  stop_without_progress "Slurm has started the job again" "$at_start" 1
  for attempt in 0 1; do
    [[ -n $stopping ]] || run_attempt
    case $code in
      "$EXIT_OK" | "$EXIT_USAGE" | "$EXIT_DATA" | "$EXIT_INTERNAL" | "$EXIT_IO") exit "$code" ;;
      "$EXIT_RETRY") requeue "the ranks ended with exit code 75" ;;
    esac
    died="a rank was killed or could not start (srun's exit code is $code)"
    [[ -z $stopping && $(progress) == none ]] || requeue "$died"
    ((attempt > 0)) || slurm_say "$died before the first committed step: trying once more"
  done
  slurm_fail $EXIT_INTERNAL "$died, twice before the first committed step: the job is not requeued"
}

# ---- Requeueing.

job_field() { sed -n "s/.*[[:space:]]$1=\([^[:space:]]*\).*/\1/p" <<<" $job_description"; }

# job_log JOB: the path of the job's log, which may contain spaces: its line has nothing else.
job_log() { scontrol show job "$1" 2>/dev/null | sed -n 's/^ *StdOut=//p' | head -n 1; }

# requeue REASON: ends this execution, so that Slurm starts the job again; does not return.
requeue() {
  local job=${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID} job_description now
  job=${job:-$SLURM_JOB_ID} # the last task of an array has the array's number: requeueing that would requeue all tasks
  now=$(progress)
  stop_without_progress "$1" "$now" 0
  [[ $verb != train ]] || set -- "$1; the last committed step is $now"
  trap '' USR1 TERM
  job_description=$(scontrol -o show job "$job" 2>/dev/null | head -n 1) || true
  # An execution on a node that was cut off may find that Slurm has started the job again elsewhere.
  if [[ $(job_field JobState) != RUNNING || $(job_field Restarts) != "${SLURM_RESTART_COUNT:-0}" ]]; then
    slurm_say "$1; Slurm has ended this execution of job $job and decides whether another one starts"
    exit $EXIT_RETRY
  fi
  if [[ $(job_field Requeue) == 1 ]]; then
    slurm_say "$1; requeueing the job"
    if scontrol requeue "$job"; then delay_start "$job"; fi
    exit $EXIT_RETRY
  fi
  submit_successor "$job" "$1"
}

# delay_start JOB: Slurm itself starts a requeued job when its last credentials have expired, but forgets that if it
# gives up one of the job's nodes meanwhile: the job is then refused by a node that it was on, and has failed. As long as
# this script runs, the job cannot start.
delay_start() {
  local seconds
  seconds=$(scontrol show config 2>/dev/null | sed -n 's/^AuthInfo .*cred_expire=\([0-9]*\).*/\1/p')
  scontrol update JobId="$1" StartTime="now+$((${seconds:-120} + 1))" || true
}

# submit_successor JOB REASON: for jobs that Slurm may not requeue. The successor of a task is an array of this task.
submit_successor() {
  local options=(--export=ALL --dependency="afterany:$1" --no-requeue --nodes="$SLURM_JOB_NUM_NODES"
    --ntasks="$ranks" --partition="$SLURM_JOB_PARTITION" --time="$(job_field TimeLimit)" --chdir="$PWD"
    --job-name="$SLURM_JOB_NAME" --output="$(job_log "$1")" --open-mode=append)
  [[ -z ${SLURM_NTASKS_PER_NODE:-} ]] || options+=(--ntasks-per-node="$SLURM_NTASKS_PER_NODE")
  [[ -z ${SLURM_CPUS_PER_TASK:-} ]] || options+=(--cpus-per-task="$SLURM_CPUS_PER_TASK")
  [[ -z ${SLURM_ARRAY_TASK_ID:-} ]] || options+=(--array="$SLURM_ARRAY_TASK_ID")
  local next
  next=$(REPRISE_EXECUTIONS=$((execution + 1)) REPRISE_LINEAGE=$lineage \
    sbatch --parsable "${options[@]}" "$records/script.$SLURM_JOB_ID.sh" "${submitted[@]}") ||
    slurm_fail $EXIT_RETRY "$2; the job may not be requeued and no other one could be submitted: submit it again with --resume"
  slurm_say "$2; job ${next%%;*} continues"
  exit $EXIT_RETRY
}
