"""An environment that counts letters. It fails with the fault REPRISE_TEST_FAULT at training step 3 (or that which
REPRISE_TEST_FAULT_STEP gives), prompt 2, sample 1, turn 0 ("hangs": from step 3 on), or with REPRISE_TEST_FAULT_PHASE=evaluation in the evaluation after that step.
In the phase REPRISE_TEST_NULL it cannot score the odd prompts. It represents a program of a user."""

import json
import os
import signal
import sys
import time

FAULT = os.environ.get("REPRISE_TEST_FAULT", "")
PHASE = os.environ.get("REPRISE_TEST_FAULT_PHASE", "training")
STEP = int(os.environ.get("REPRISE_TEST_FAULT_STEP", "3"))


def is_place(request):
    place = [request[name] for name in ("phase", "step", "prompt", "sample")]
    return request["event"] == "step" and place == [PHASE, STEP, 2, 1] and len(request["actions"]) == 1


def fail(line):
    """Executes the fault and returns whether it replaced the reply."""
    if FAULT == "crash":
        sys.exit(3)
    if FAULT == "slow":
        time.sleep(60)
    if FAULT == "kill_trainer":
        with open(os.environ.get("REPRISE_TEST_PID_FILE", os.devnull), "w", encoding="ascii") as pid_file:
            pid_file.write(str(os.getpid()))
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)
    faults = {
        "garbage": "Traceback (most recent call last):\n",
        "nothing": "\n",
        "no_reward": json.dumps({"id": json.loads(line)["id"], "done": True}) + "\n",
        "half_line": '{"id": ',
        "two_lines": '{}\n{}\n',
    }
    sys.stdout.write(faults.get(FAULT, ""))
    sys.stdout.flush()
    if FAULT == "half_line":
        sys.exit(0)
    return FAULT in faults


def reply_to(request):
    if request["event"] == "score" and os.environ.get("REPRISE_TEST_NULL") == request["phase"] and request["prompt"] % 2:
        return {"reward": None}
    if request["event"] == "score":
        return {"reward": len(request["completion"]) / 8 + len(request["actions"]) / 16}
    said, answer = request["actions"][-1], request["task"]["answer"]
    is_call = len(said) % 2 == 0
    if request["event"] == "is_tool_call":
        return {"tool_call": is_call}
    if set(request.get("refused", [])) & {len(request["actions"]) - 1}:
        raise ValueError("the trainer requested a tool call that was refused")
    common = len(set(said) & set(answer)) + (1 if request.get("greedy") else 0)
    done = said == answer or len(said) + request["sample"] == 4
    reply = {"reward": common / 4, "done": done, "tool_call": is_call}
    if os.environ.get("REPRISE_TEST_FEATURES"):
        return reply | {"features": [common / 4, -len(request["actions"])]}
    return reply | {"observation": f"{common} of {len(request['actions'])}\n"}


def main():
    if FAULT == "absent":
        sys.exit(3)
    answered = 0
    for line in sys.stdin:
        request = json.loads(line)
        if FAULT == "hangs" and request["phase"] == PHASE and request["step"] >= 3:
            time.sleep(600)
        if FAULT == "hangs_on_rank_one" and request["phase"] == PHASE and request["step"] >= 3:
            time.sleep(600 if request["prompt"] >= 5 else 0.5)  # on rank 1 of two, with 8 shards of 11 prompts
        if FAULT and is_place(request) and fail(line):
            continue
        reply = reply_to(request)
        reply["id"] = request["id"]
        print(json.dumps(reply), flush=True)
        answered += 1
        if FAULT == "exits" and answered == 7:
            return


main()
