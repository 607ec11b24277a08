"""The child process that renders chat templates: reads {"template", "tokens", "date",
"mebibytes", "seconds", "most"}, then {"messages", "tools"}
per line; writes {"text"} or {"error"}, one line for each."""

import datetime
import json
import signal
import sys
from typing import Any

from reprise.prepare.limited_process import limit_memory


def _say(value: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def _error(error: BaseException, mebibytes: int) -> dict[str, Any]:
    if isinstance(error, MemoryError):
        return {"error": f"needs more than {mebibytes} MiB of memory"}
    if isinstance(error, RecursionError):
        return {"error": "calls itself without an end"}
    number = getattr(error, "lineno", None)
    line = f" (line {number} of the template)" if number else ""
    sentence = " ".join(str(error).split())[:300] or type(error).__name__
    return {"error": f"fails: {sentence}{line}"}


def main() -> None:
    try:
        import jinja2

        from reprise.prepare import chat_template
    except ImportError:
        _say({"error": "missing"})
        return
    first = json.loads(sys.stdin.readline())
    date, mebibytes = datetime.date.fromisoformat(first["date"]), first["mebibytes"]
    if chat_template.way_out(date):
        _say({"error": "insecure", "version": jinja2.__version__})
        return
    limit_memory(mebibytes)
    # Ends this process in the midst of anything, also where the one that waits for it has been killed.
    signal.setitimer(signal.ITIMER_REAL, first["seconds"])
    try:
        template = chat_template.environment(date).from_string(first["template"])
    except Exception as error:
        _say(_error(error, mebibytes))
        return
    signal.setitimer(signal.ITIMER_REAL, 0)
    _say({"text": jinja2.__version__})
    for line in sys.stdin:
        signal.setitimer(signal.ITIMER_REAL, first["seconds"])
        try:
            request = json.loads(line)
            reply = {"text": chat_template.render(template, request["messages"], request["tools"], first["tokens"])}
            if len(reply["text"]) > first["most"]:
                reply = {"error": f"writes more than {first['most']} characters"}
            _say(reply)
        except Exception as error:
            _say(_error(error, mebibytes))
        signal.setitimer(signal.ITIMER_REAL, 0)


if __name__ == "__main__":
    main()
