#!/usr/bin/env bash
# Submits a verb as a Slurm job; `./reprise train ... --slurm` calls it after the build.
#
#   slurm/submit.sh VERB [ARGUMENT...] [--nodes N] [--ranks-per-node R] [--time LIMIT] [--partition NAME]
#       [--account NAME] [--qos NAME] [--constraint LIST] [--mem SIZE] [--site NAME] [--array TASKS] [--dry-run]
#
#   VERB                 train, evaluate or sweep; the arguments are its own, and checked before anything is submitted
#   --nodes N            nodes of the job (default 1)
#   --ranks-per-node R   ranks on each node (default 1)
#   --time LIMIT, --partition NAME, --account NAME, --qos NAME, --constraint LIST, --mem SIZE
#                        as sbatch takes them; a site file sets them for every job (slurm/README.md), and these go first
#   --site NAME          settings of the cluster: slurm/sites/NAME.env, or a path; default: REPRISE_SITE, if it is set
#   --array TASKS        for sweep: a job array of so many tasks, each with the nodes above, which share the trials
#   --dry-run            prints the script instead of submitting it: `sbatch FILE` submits what was printed into FILE
#
# Prints the number of the job. Example:
#   ./reprise train configs/quickstart.toml --output runs/first --slurm --nodes 2 --ranks-per-node 4 --dry-run
#
# Exit codes: 0 submitted, 64 configuration or usage, 74 sbatch failed; and those of the verb's own checks.
set -euo pipefail
REPRISE_ROOT=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
export REPRISE_ROOT
# shellcheck source=slurm/lib.sh
source "$REPRISE_ROOT/slurm/lib.sh"

usage() { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; }

# take_count OPTION VALUE WHAT: prints a number of 1 to 99999.
take_count() {
  [[ $2 =~ ^[1-9][0-9]{0,4}$ ]] || slurm_fail $EXIT_USAGE "$1 $2: expected a number of $3, 1 to 99999"
  echo "$2"
}

# take_directive OPTION VALUE: checks the value of an option that is sbatch's, and keeps it in `directives`.
take_directive() {
  local of_sbatch='^[][A-Za-z0-9_.,:@/+&|*()-]+$'
  [[ $2 =~ $of_sbatch ]] ||
    slurm_fail $EXIT_USAGE "$1 $2: expected a value as sbatch $1 takes it, without spaces, quotes, backslashes and #"
  directives[${1#--}]=$2
}

# reject_option_of_sbatch OPTION: says where the options of sbatch belong that this script does not take.
reject_option_of_sbatch() {
  local key=SBATCH_OPTIONS
  case $1 in
    --ntasks | --ntasks-per-node) slurm_fail $EXIT_USAGE "$1 is sbatch's: here it is --ranks-per-node R, beside --nodes N" ;;
    --cpus-per-task) key=CPUS_PER_RANK ;;
    --signal) key=STOP_SECONDS ;;
    --begin | --comment | --dependency | --exclude | --exclusive | --gpus | --gres | --licenses | --mail-type | \
      --mail-user | --mem-per-cpu | --nice | --nodelist | --reservation) ;;
    *) return 0 ;;
  esac
  slurm_fail $EXIT_USAGE "$1 is an option of sbatch: write it into $key of a site file, and give that by --site NAME (slurm/README.md)"
}

# Takes the options of this script out of the arguments; the others are the verb's.
parse_arguments() {
  nodes=1 ranks_per_node=1 site_file=${REPRISE_SITE:-} tasks='' dry_run='' arguments=()
  declare -gA directives=()
  local option value
  while (($#)); do
    option=${1%%=*}
    case $option in
      --slurm) shift && continue ;;
      --dry-run) dry_run=yes && shift && continue ;;
      --nodes | --ranks-per-node | --site | --array | --ranks | --time | --partition | --account | --qos | --constraint | --mem)
        if [[ $1 == *=* ]]; then
          value=${1#*=}
        else
          (($# > 1)) || slurm_fail $EXIT_USAGE "$option needs a value"
          value=$2
          shift
        fi
        [[ -n $value && $value != -* ]] || slurm_fail $EXIT_USAGE "$option needs a value${value:+, and $value is an option}"
        ;;
      *)
        reject_option_of_sbatch "$option"
        arguments+=("$1") && shift && continue
        ;;
    esac
    case $option in
      --nodes) nodes=$(take_count "$option" "$value" nodes) ;;
      --ranks-per-node) ranks_per_node=$(take_count "$option" "$value" ranks) ;;
      --array) tasks=$(take_count "$option" "$value" tasks) ;;
      --site) site_file=$value ;;
      --time | --partition | --account | --qos | --constraint | --mem) take_directive "$option" "$value" ;;
      --ranks) slurm_fail $EXIT_USAGE "--ranks counts the ranks on this machine: with --slurm give --nodes N --ranks-per-node R" ;;
    esac
    shift
  done
  ((nodes * ranks_per_node <= 99999)) ||
    slurm_fail $EXIT_USAGE "--nodes $nodes --ranks-per-node $ranks_per_node: these are $((nodes * ranks_per_node)) ranks; at most 99999 are possible"
  check_arguments_of_job "${arguments[@]}"
  [[ -n $tasks ]] || return 0
  [[ $verb == sweep ]] || slurm_fail $EXIT_USAGE "--array shares the trials of a sweep: $verb is one job"
  for option in "${arguments[@]}"; do
    case $option in --task | --task=* | --tasks | --tasks=*)
      slurm_fail $EXIT_USAGE "--array $tasks gives each of its tasks its own --task and --tasks: remove ${option%%=*}"
      ;;
    esac
  done
}

# directive OPTION VALUE: a line for sbatch; none without a value. Outside double quotes sbatch ends a value at a space and
# at a #, and takes a ' for the beginning of a quotation.
directive() {
  [[ -n $2 ]] || return 0
  if [[ $2 == *[[:space:]\#\']* ]]; then printf '#SBATCH --%s="%s"\n' "$1" "$2"; else printf '#SBATCH --%s=%s\n' "$1" "$2"; fi
}

# setting OPTION KEY: the value of an option of sbatch, from the command line or the site file.
setting() { printf '%s' "${directives[$1]:-$(site "$2" '')}"; }

# Slurm makes no folder for a log: a job whose log has none fails without one.
print_script() {
  local log=reprise-$verb-%j.log option options
  [[ -z $output || ! -d $output/slurm ]] || log=$output/slurm/%j.log
  [[ -z $tasks ]] || log=${log//%j/%A_%a}
  echo '#!/usr/bin/env bash'
  directive job-name "reprise-$verb"
  directive nodes "$nodes"
  directive ntasks-per-node "$ranks_per_node"
  [[ -z $tasks ]] || directive array "0-$((tasks - 1))"
  directive cpus-per-task "$(site CPUS_PER_RANK '')"
  directive mem "$(setting mem MEMORY)"
  directive time "$(setting time TIME)"
  directive partition "$(setting partition PARTITION)"
  directive account "$(setting account ACCOUNT)"
  directive qos "$(setting qos QOS)"
  directive constraint "$(setting constraint CONSTRAINT)"
  directive signal "B:USR1@$(site STOP_SECONDS 120)"
  directive chdir "$PWD"
  directive output "$log"
  directive open-mode append
  echo '#SBATCH --requeue'
  read -ra options <<<"$(site SBATCH_OPTIONS '')"
  for option in "${options[@]}"; do echo "#SBATCH $option"; done
  echo 'set -euo pipefail'
  printf 'export REPRISE_ROOT=%q\n' "$REPRISE_ROOT"
  [[ -z $site_file ]] || printf 'export REPRISE_SITE=%q\n' "$site_file"
  [[ -z $tasks ]] || echo "export REPRISE_TASKS=$tasks"
  [[ -z ${REPRISE_PROGRAMS:-} ]] || printf 'export REPRISE_PROGRAMS=%q\n' "$(realpath -ms "$REPRISE_PROGRAMS")"
  echo "set --$(printf ' %q' "${arguments[@]}")"
  printf 'source "$REPRISE_ROOT/slurm/%s.sbatch"\n' "$verb"
}

check_arguments() {
  local program argument directory
  program=${REPRISE_PROGRAMS:-$(site PROGRAMS "$REPRISE_ROOT/bazel-bin/pipelines")}/$verb
  for argument in "${arguments[@]}"; do
    case $argument in --help | -h | --version) exec "$program" "${arguments[@]}" ;; esac
  done
  [[ -x $program ]] || slurm_fail $EXIT_USAGE "$program is missing: ./reprise $verb builds it"
  "$program" --check --ranks-to-start $((nodes * ranks_per_node)) "${arguments[@]}" >&2 || exit
  for directory in "$PWD" "$output"; do
    [[ $directory != *[%\"\\$'\n']* ]] ||
      slurm_fail $EXIT_USAGE "$directory: sbatch does not take a directory with a percent sign, a double quote, a backslash or a line break"
  done
}

submit() {
  local job
  command -v sbatch >/dev/null ||
    slurm_fail $EXIT_USAGE "sbatch is not installed here: submit on a machine of the cluster, or print the script by --dry-run"
  if [[ -n $output ]]; then
    mkdir -p "$output/slurm" || slurm_fail $EXIT_IO "$output/slurm cannot be made: the job keeps its log there"
  fi
  job=$(print_script | sbatch --parsable) || slurm_fail $EXIT_IO \
    "sbatch did not take the job: where its message above asks for a time limit, a partition or an account, give --time, --partition or --account, or set TIME, PARTITION, ACCOUNT in a site file for every job (slurm/README.md)"
  echo "${job%%;*}"
}

forget_job
verb=${1:-}
case $verb in
  train | evaluate | sweep) shift ;;
  -h | --help) usage && exit 0 ;;
  '') usage >&2 && exit 64 ;;
  *) slurm_fail $EXIT_USAGE "$verb does not run as a Slurm job: train, evaluate and sweep do" ;;
esac
parse_arguments "$@"
output=$(output_of "${arguments[@]}")
if [[ -n $site_file ]]; then
  site_file=$(find_site "$site_file")
  read_site "$site_file"
fi
check_arguments
if [[ -n $dry_run ]]; then print_script; else submit; fi
