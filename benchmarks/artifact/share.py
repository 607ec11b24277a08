#!/usr/bin/env python3
"""Measures the fraction of a step that the artifact takes: digests of all gradients and weights, and durable commits.

    bazel build //pipelines:train
    python3 benchmarks/artifact/share.py bazel-bin/pipelines/train benchmarks/artifact/micro.toml [--threads N]

All values come from one run, so that changes of the machine's speed affect all of them: every second step is digested,
and every fourth commits the last four (its time is part of the next step's). Prints one line of JSON:
  step            median seconds of a step that is neither digested nor after a commit
  digests         the fraction of a step that digests add, if every step is digested; a tenth of it for every tenth step
  commit          the fraction of a step that a commit of four steps takes, averaged over those four steps
"""
import argparse, json, os, statistics, subprocess, tempfile

WARM_UP = 4


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train")
    parser.add_argument("config")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=60)
    arguments = parser.parse_args()
    settings = ["artifact.digest_every=2", "execution.commit_every=4", f"execution.threads={arguments.threads}",
                f"run.steps={arguments.steps}"]
    with tempfile.TemporaryDirectory() as folder:
        run = os.path.join(folder, "run")
        subprocess.run([arguments.train, arguments.config, "--output", run, "--quiet",
                        *(word for setting in settings for word in ("--set", setting))],
                       check=True, stdout=subprocess.DEVNULL)
        with open(os.path.join(run, "execution.jsonl")) as file:
            lines = [json.loads(line) for line in file]
    seconds = {line["step"]: line["step_time"] for line in lines
               if line["event"] == "step" and WARM_UP < line["step"] < arguments.steps}

    def median(rest):
        return statistics.median(time for step, time in seconds.items() if step % 4 == rest)

    plain = median(3)
    print(json.dumps({"what": "artifact_share", "threads": arguments.threads, "step": round(plain, 4),
                      "digests": round((median(2) - plain) / plain, 4),
                      "commit": round((median(1) - plain) / 4 / plain, 4)}))


if __name__ == "__main__":
    main()
