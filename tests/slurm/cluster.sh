#!/usr/bin/env bash
# A Slurm cluster of several nodes on one machine, for tests: real daemons, each node in Linux namespaces of its own.
#
#   eval "$(cluster.sh up 3)"       starts nodes rn1 to rn3 and prints the environment in which srun and sbatch use them
#   cluster.sh run COMMAND...       runs a command on the controller; after the eval, plain srun and sbatch do so
#   cluster.sh env                  prints that environment again
#   cluster.sh kill-slurmd K        SIGKILL for the daemon of node K; its jobs' processes stay alive
#   cluster.sh kill-node K          SIGKILL for every process of node K; their connections are closed
#   cluster.sh power-off K          the same with the link cut first: no peer is told
#   cluster.sh start-node K         boots node K: whatever was left of it ends, its directories are empty, its link is up
#   cluster.sh partition K          cuts the link of node K, whose processes stay alive
#   cluster.sh heal K               restores the link
#   cluster.sh restart-controller   SIGKILL for slurmctld, which starts again from its saved state
#   cluster.sh status               daemons, nodes and jobs
#   cluster.sh down                 ends every process and removes CLUSTER_DIR; works on a cluster that is half up
#   cluster.sh check                says in one sentence why this machine cannot run a cluster; exit code 1
#
# Controller, bridge and addresses are in the controller's network namespace. So the machine's own network is not
# touched, several clusters run side by side, and the kernel removes links and mounts when the last process ends.
# Nothing is written outside CLUSTER_DIR.
#
# Environment: CLUSTER_DIR, at most 50 characters (default for up: a new directory in /tmp); CLUSTER_CPUS of a node (2);
# CLUSTER_SLURMD_TIMEOUT, seconds (5: a dead node is noticed after 9 or 10); CLUSTER_CONF, more lines of slurm.conf;
# CLUSTER_LOGS, where down copies the logs to; CLUSTER_OWNER, a process id: the cluster ends with that process.
#
# Needs root, and the packages that ./reprise setup installs for root: slurmctld slurmd slurm-client munge iproute2.
set -euo pipefail
export LC_ALL=C PATH=$PATH:/usr/sbin:/sbin
self=$(readlink -f "${BASH_SOURCE[0]}")
readonly NETWORK=10.88.0 # the controller is .1, node K is .(10+K)
readonly MOST_NODES=64
readonly CLIENTS=(srun sbatch salloc sattach sbcast scancel scontrol sdiag sinfo squeue sstat)

say() { echo "cluster: $*" >&2; }
fail() {
  say "$*"
  exit 1
}
usage() { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$self"; }
milliseconds() { echo $((${EPOCHREALTIME/./} / 1000)); }
# poll SECONDS COMMAND...: waits until the command succeeds.
poll() {
  local tries=$(($1 * 50))
  shift
  until "$@"; do
    ((tries-- > 0)) || return 1
    sleep 0.02
  done
}

# ---- Processes: a record is a file "PID STARTTIME", so that a process that got the number later is not taken for ours.

# start_time PID: nothing for a process that has ended, zombies included.
start_time() {
  local fields
  fields=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  read -ra fields <<<"${fields##*) }"
  [[ ${fields[0]} != [ZX] ]] && echo "${fields[19]}"
}
alive() { # RECORD
  local pid start
  [[ -f $1 ]] && read -r pid start <"$1" && [[ -n ${start:-} && $(start_time "$pid") == "$start" ]]
}
dead() { ! alive "$1"; }
pid_of() { cut -d' ' -f1 "$1"; }
kill_record() { # RECORD
  alive "$1" || return 0
  kill -KILL "$(pid_of "$1")" 2>/dev/null || true
  poll 5 dead "$1"
}

# start_daemon NAME COMMAND...: in its own session, without any descriptor of the caller's (a lock, a pipe of its
# output), and recorded before the command starts. Its environment marks it as the cluster's.
start_daemon() {
  local name=$1
  shift
  rm -f "$cluster/run/$name.pid"
  (
    cd /
    for descriptor in "/proc/$BASHPID/fd/"*; do
      descriptor=${descriptor##*/}
      ((descriptor <= 2)) || eval "exec $descriptor>&-"
    done 2>/dev/null
    # shellcheck disable=SC2016  # expanded by the daemon's shell
    exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=/root USER=root \
      SLURM_CONF="$cluster/slurm.conf" CLUSTER_DAEMON_OF="$cluster" setsid bash -c '
        record=$1; shift
        stat=$(cat /proc/$$/stat); read -ra fields <<<"${stat##*) }"
        echo "$$ ${fields[19]}" >"$record.new" && mv "$record.new" "$record" && exec "$@"' \
      daemon "$cluster/run/$name.pid" "$@"
  ) </dev/null >>"$cluster/log/$name.out" 2>&1 &
  disown 2>/dev/null || true
  poll 5 test -s "$cluster/run/$name.pid" || fail "$name did not start"
}

# ---- Namespaces.

# start_box NAME HOSTNAME: an idle process that keeps the network, host name and mounts of a machine alive.
start_box() {
  # shellcheck disable=SC2016  # expanded by the box's shell
  start_daemon "$1" unshare --net --uts --mount --ipc bash -c '
    echo "$1" >/proc/sys/kernel/hostname && ip link set lo up && mount --bind "$2/hosts" /etc/hosts &&
      readlink /proc/self/ns/net >"$2/run/namespace.$3.new" && mv "$2/run/namespace.$3.new" "$2/run/namespace.$3"
    exec sleep infinity' box "$2" "$cluster" "$1"
  poll 5 test -e "$cluster/run/namespace.$1" || fail "$1 is not ready: $(tail -n 1 "$cluster/log/$1.out")"
}
box_pid() { pid_of "$cluster/run/$1.pid"; }
on_controller() { nsenter -t "$(box_pid controller)" --net --uts --mount -- "$@"; }
controller_ip() { nsenter -t "$(box_pid controller)" --net -- ip "$@"; }
node_ip() { nsenter -t "$(box_pid "box$1")" --net -- ip "${@:2}"; }

# ---- Configuration.

# A requeued job starts 1 s after cred_expire, which is at least 5 s.
write_slurm_conf() {
  cat >"$cluster/slurm.conf" <<CONF
ClusterName=reprise
SlurmctldHost=controller($NETWORK.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$cluster/munge/socket,cred_expire=5
CredType=cred/munge
StateSaveLocation=$cluster/state
SlurmdSpoolDir=$cluster/node/%n/spool
TmpFS=$cluster/node/%n/tmp
SlurmctldPidFile=$cluster/run/slurmctld.own
SlurmdPidFile=$cluster/run/slurmd.%n.own
SlurmctldLogFile=$cluster/log/slurmctld.log
SlurmdLogFile=$cluster/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
TaskProlog=$cluster/task_prolog
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc=$cluster/log/completions.txt
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=1,sched_min_interval=0,batch_sched_delay=0
MpiDefault=pmix
ReturnToService=2
SlurmctldTimeout=10
SlurmdTimeout=${CLUSTER_SLURMD_TIMEOUT:-5}
MessageTimeout=2
TCPTimeout=1
KillWait=2
JobRequeue=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmctldParameters=preempt_send_user_signal
SlurmdParameters=config_overrides
NodeName=rn[1-$nodes] NodeAddr=$NETWORK.[11-$((10 + nodes))] CPUs=${CLUSTER_CPUS:-2} RealMemory=2000 State=UNKNOWN
PartitionName=low Nodes=rn[1-$nodes] Default=YES MaxTime=60 State=UP PriorityTier=1 PreemptMode=REQUEUE GraceTime=3
PartitionName=high Nodes=rn[1-$nodes] MaxTime=60 State=UP PriorityTier=10 PreemptMode=OFF
${CLUSTER_CONF:-}
CONF
}

write_configuration() {
  local k client version=v1
  [[ $(stat -fc %T /sys/fs/cgroup) != cgroup2fs ]] || version=v2
  echo "CgroupPlugin=cgroup/$version" >"$cluster/cgroup.conf"
  [[ $version == v1 ]] || echo IgnoreSystemd=yes >>"$cluster/cgroup.conf"
  {
    echo "127.0.0.1 localhost"
    echo "$NETWORK.1 controller"
    for ((k = 1; k <= nodes; ++k)); do echo "$NETWORK.$((10 + k)) rn$k"; done
  } >"$cluster/hosts"
  head -c 1024 /dev/urandom >"$cluster/munge/key"
  chmod 400 "$cluster/munge/key"
  chmod 711 "$cluster/munge"
  write_slurm_conf
  # All nodes see the machine's /tmp, the cluster's shared file system; what Open MPI keeps there must not meet.
  # shellcheck disable=SC2016  # expanded on the node
  printf '#!/bin/sh\necho "export TMPDIR=%s/node/$SLURMD_NODENAME/tmp"\n' "$cluster" >"$cluster/task_prolog"
  for client in "${CLIENTS[@]}"; do
    printf '#!/bin/sh\nCLUSTER_DIR=%q exec %q run %s "$@"\n' "$cluster" "$self" "$client" >"$cluster/bin/$client"
  done
  chmod +x "$cluster/task_prolog" "$cluster/bin/"*
}

# ---- Daemons.

start_munge() {
  start_daemon munged nsenter -t "$(box_pid controller)" --net munged --foreground --force --num-threads=4 \
    --key-file="$cluster/munge/key" --socket="$cluster/munge/socket" --pid-file="$cluster/munge/pid" \
    --log-file="$cluster/log/munged.log" --seed-file="$cluster/munge/seed"
}
start_slurmctld() {
  start_daemon slurmctld nsenter -t "$(box_pid controller)" --net --uts --mount --ipc slurmctld -D
}
connect_node() { # K
  controller_ip link add "v$1" type veth peer name eth0 netns "$(box_pid "box$1")"
  controller_ip link set "v$1" master bridge up
  node_ip "$1" addr add "$NETWORK.$((10 + $1))/24" dev eth0
}

# boot_node K: a reboot empties the node's directories; sockets that a dead step left there would stop a requeued one.
# The node's init is bash, which reaps what slurmd leaves behind and stays when slurmd dies; /dev/shm is the node's own.
boot_node() {
  local k=$1
  rm -rf "$cluster/node/rn$k"
  mkdir -p "$cluster/node/rn$k/spool" "$cluster/node/rn$k/tmp"
  node_ip "$k" link set eth0 up
  controller_ip link set "v$k" up
  # shellcheck disable=SC2016  # expanded by the node's init
  start_daemon "node$k" nsenter -t "$(box_pid "box$k")" --net --uts --mount --ipc \
    unshare --pid --fork --kill-child --mount --mount-proc bash -c '
      mount -t tmpfs -o size=512m tmpfs /dev/shm || exit 1
      slurmd -D -N "rn$1" &
      wait $!
      sleep infinity &
      wait $!' init "$k"
}
# The death of unshare takes all processes of its process namespace with it.
kill_node() { kill_record "$cluster/run/node$1.pid" || fail "node $1 does not die"; }

kill_slurmd() { # K
  local init slurmd=
  init=$(pgrep -P "$(pid_of "$cluster/run/node$1.pid")") || fail "node $1 is down"
  slurmd=$(pgrep -P "$init" -x slurmd) || fail "slurmd of node $1 is not running"
  kill -KILL "$slurmd"
}

idle_nodes() { on_controller env SLURM_CONF="$cluster/slurm.conf" sinfo -h -N -p low -t idle -o %n 2>/dev/null | sort -u | wc -l; }
all_idle() { [[ $(idle_nodes) == "$nodes" ]]; }
answers() { on_controller env SLURM_CONF="$cluster/slurm.conf" scontrol ping 2>/dev/null | grep "is UP" >/dev/null; }

print_environment() {
  printf 'export CLUSTER_DIR=%q SLURM_CONF=%q CLUSTER_NODES=%q\n' "$cluster" "$cluster/slurm.conf" "$nodes"
  printf 'case ":$PATH:" in *:%q:*) ;; *) export PATH=%q:"$PATH" ;; esac\n' "$cluster/bin" "$cluster/bin"
}

# ---- Up and down.

check_machine() {
  local wanted missing=()
  for wanted in slurmctld:slurmctld slurmd:slurmd srun:slurm-client munged:munge ip:iproute2 nsenter:util-linux; do
    command -v "${wanted%%:*}" >/dev/null || missing+=("${wanted##*:}")
  done
  ((EUID == 0)) || fail "a cluster on one machine needs root, for namespaces and slurmd"
  ((${#missing[@]} == 0)) || fail "these packages are missing: ${missing[*]}; as root, ./reprise setup installs them"
  unshare --net --uts --mount --ipc --pid --fork true 2>/dev/null ||
    fail "this kernel or container does not allow network, process and mount namespaces"
}

# Sets `cluster`. A cluster that is already there is kept if it is whole and has as many nodes; otherwise it is ended.
choose_directory() {
  if [[ -z ${CLUSTER_DIR:-} ]]; then
    cluster=$(mktemp -d /tmp/slurm.XXXXXX)
  else
    cluster=$(readlink -m "$CLUSTER_DIR")
    if [[ -e $cluster/.nodes ]]; then
      if [[ $(cat "$cluster/.nodes") == "$nodes" ]] && alive "$cluster/run/slurmctld.pid" && poll 3 all_idle; then
        print_environment
        exit 0
      fi
      down
    fi
    [[ ! -d $cluster || -z $(ls -A "$cluster") ]] || fail "$cluster is not empty, and no cluster's directory"
    (umask 077 && mkdir -p "$cluster")
  fi
  [[ $cluster =~ ^[A-Za-z0-9/._+-]+$ ]] || fail "$cluster: slurm.conf does not take all of these characters"
  ((${#cluster} <= 50)) || fail "$cluster: the paths of its sockets would be too long; at most 50 characters"
  echo "$nodes" >"$cluster/.nodes"
  chmod 755 "$cluster"
}

up() {
  nodes=${1:-2}
  [[ $nodes =~ ^[0-9]{1,2}$ ]] && ((nodes >= 1 && nodes <= MOST_NODES)) || fail "up $nodes: expected 1 to $MOST_NODES nodes"
  check_machine
  choose_directory
  # From here on every process carries the mark that `down` looks for, also one that is only half started.
  CLUSTER_DAEMON_OF=$cluster exec "$self" finish-up "$cluster"
}

finish_up() {
  local started k
  started=$(milliseconds)
  mkdir -p "$cluster"/{run,log,state,node,bin}
  (umask 077 && mkdir -p "$cluster/munge")
  is_up=
  trap '[[ -n $is_up ]] || { tail -n 5 "$cluster"/log/* >&2 2>/dev/null || true; down; }' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  trap 'exit 129' HUP
  if [[ -n ${CLUSTER_OWNER:-} ]]; then
    echo "$CLUSTER_OWNER $(start_time "$CLUSTER_OWNER")" >"$cluster/run/owner.process"
    start_daemon owner "$self" follow-owner "$cluster"
  fi
  write_configuration
  start_box controller controller
  controller_ip link add bridge type bridge
  controller_ip addr add "$NETWORK.1/24" dev bridge
  controller_ip link set bridge up
  start_munge
  for ((k = 1; k <= nodes; ++k)); do
    start_box "box$k" "rn$k"
    connect_node "$k"
  done
  poll 5 test -S "$cluster/munge/socket" || fail "munged did not start"
  start_slurmctld
  for ((k = 1; k <= nodes; ++k)); do boot_node "$k"; done
  poll 30 all_idle || fail "not all nodes are idle after 30 s"
  is_up=yes
  say "$nodes nodes are up after $(($(milliseconds) - started)) ms: $cluster"
  print_environment
}

# The records of the boxes that keep a network namespace alive.
boxes() {
  local file record
  for file in "$cluster"/run/namespace.*; do
    record=$cluster/run/${file##*/namespace.}.pid
    alive "$record" && echo "$record" || true
  done
}
# Processes of the cluster without a record: those in one of its network namespaces, and those that carry its mark. When
# the last process of a namespace ends, the kernel gives its number to the next one, which may be another cluster's: a
# namespace counts only if its box is still alive after the search.
unrecorded_processes() {
  local found record
  found=$(find /proc -mindepth 3 -maxdepth 3 -path '/proc/[0-9]*/ns/net' -printf '%l %p\n' 2>/dev/null) || true
  {
    grep -lzxF "CLUSTER_DAEMON_OF=$cluster" /proc/[0-9]*/environ || true
    for record in $(boxes); do
      awk -v box="$(cat "$cluster/run/namespace.$(basename "$record" .pid)")" '$1 == box { print $2 }' <<<"$found"
    done
  } 2>/dev/null | cut -d/ -f3 | sort -u
}
# Spares this process, its ancestors and the boxes that are alive.
kill_unrecorded() {
  local ancestors=" $BASHPID " ancestor=$$ record round process hit spared
  while ((ancestor > 1)); do
    ancestors+="$ancestor "
    ancestor=$(awk '/^PPid/ { print $2 }' "/proc/$ancestor/status" 2>/dev/null || echo 0)
  done
  spared=$ancestors$(for record in $(boxes); do echo "$(pid_of "$record") "; done 2>/dev/null | tr -d '\n')
  for round in 1 2 3 4 5; do
    hit=
    for process in $(unrecorded_processes); do
      [[ $spared != *" $process "* ]] && start_time "$process" >/dev/null || continue
      kill -KILL "$process" 2>/dev/null && hit=$round || true
    done
    [[ -n $hit ]] || return 0
    sleep 0.1
  done
}

down() {
  local record round boxes
  [[ -d $cluster ]] || return 0
  [[ -e $cluster/.nodes ]] || fail "$cluster is no cluster's directory"
  if [[ -n ${CLUSTER_LOGS:-} ]]; then
    mkdir -p "$CLUSTER_LOGS"
    cp -r "$cluster/log/." "$cluster/slurm.conf" "$CLUSTER_LOGS/" 2>/dev/null || true
  fi
  boxes=" $(boxes | tr '\n' ' ') "
  for record in "$cluster"/run/*.pid; do
    [[ $boxes != *" $record "* ]] && alive "$record" && [[ $(pid_of "$record") != "$$" ]] || continue
    kill -KILL "$(pid_of "$record")" 2>/dev/null || true
  done
  for record in "$cluster"/run/*.pid; do
    [[ $boxes == *" $record "* || ! -f $record || $(pid_of "$record") == "$$" ]] || kill_record "$record" || true
  done
  # The boxes last: what is in their namespaces is found by them.
  kill_unrecorded
  for record in $boxes; do kill_record "$record" || true; done
  kill_unrecorded
  for round in 1 2 3; do # .nodes last, so that an interrupted `down` can be repeated
    if find "$cluster" -mindepth 1 -maxdepth 1 ! -name .nodes -exec rm -rf {} + 2>/dev/null; then
      rm -rf "$cluster"
      return 0
    fi
    sleep "0.$round"
  done
  fail "$cluster cannot be removed"
}

# ---- The other verbs.

# Signals and the exit code are the command's own: every step is an exec.
run() {
  local record
  (($#)) || fail "run needs a command"
  alive "$cluster/run/controller.pid" || fail "the cluster is down"
  for record in "$cluster"/run/client.*.pid; do alive "$record" || rm -f "$record"; done
  echo "$$ $(start_time $$)" >"$cluster/run/client.$$.pid"
  export PATH=${PATH//"$cluster/bin:"/} SLURM_CONF=$cluster/slurm.conf CLUSTER_DIR=$cluster
  # shellcheck disable=SC2016  # expanded in the controller's namespaces
  exec nsenter -t "$(box_pid controller)" --net --uts --mount -- \
    bash -c 'cd "$1" 2>/dev/null || cd /; shift; exec "$@"' run "$PWD" "$@"
}

show_status() {
  local record
  for record in "$cluster"/run/*.pid; do
    [[ $record != */client.* ]] || continue
    alive "$record" && echo "up   $(basename "$record" .pid)" || echo "DEAD $(basename "$record" .pid)"
  done
  alive "$cluster/run/slurmctld.pid" || return 0
  on_controller env SLURM_CONF="$cluster/slurm.conf" sinfo -N -p low || true
  on_controller env SLURM_CONF="$cluster/slurm.conf" squeue || true
}

restart_controller() {
  kill_record "$cluster/run/slurmctld.pid" || fail "slurmctld does not die"
  start_slurmctld
  poll 10 answers || fail "slurmctld does not answer"
}

node() { # K
  [[ ${1:-} =~ ^[0-9]{1,2}$ ]] && ((10#$1 >= 1 && 10#$1 <= nodes)) || fail "node ${1:-}: expected 1 to $nodes"
}

shopt -s nullglob
verb=${1:-help}
(($#)) && shift
case $verb in
  help | -h | --help) usage && exit 0 ;;
  check) check_machine && exit 0 ;;
  up) up "$@" ;;
  finish-up)
    cluster=$1 nodes=$(cat "$1/.nodes")
    finish_up
    exit 0
    ;;
  follow-owner)
    cluster=$1
    while alive "$cluster/run/owner.process"; do sleep 0.5; done
    down
    exit 0
    ;;
esac
[[ -n ${CLUSTER_DIR:-} ]] || fail 'CLUSTER_DIR is not set: eval "$(cluster.sh up)" sets it'
cluster=$(readlink -m "$CLUSTER_DIR")
if [[ $verb == down ]]; then
  down
  exit 0
fi
[[ -e $cluster/.nodes ]] || fail "no cluster at $cluster"
nodes=$(cat "$cluster/.nodes")
case $verb in
  run) run "$@" ;;
  env) print_environment ;;
  kill-slurmd) node "$@" && kill_slurmd "$1" ;;
  kill-node) node "$@" && kill_node "$1" ;;
  power-off) node "$@" && controller_ip link set "v$1" down && kill_node "$1" ;;
  start-node) node "$@" && kill_node "$1" && boot_node "$1" ;;
  partition) node "$@" && controller_ip link set "v$1" down ;;
  heal) node "$@" && controller_ip link set "v$1" up ;;
  restart-controller) restart_controller ;;
  status) show_status ;;
  *) fail "unknown verb: $verb; cluster.sh help lists them" ;;
esac
