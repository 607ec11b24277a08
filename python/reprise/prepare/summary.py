"""What a preparation has done, for people."""

from typing import Any


def _rows(count: int) -> str:
    return f"{count} row{'' if count == 1 else 's'}"


def _sentences(facts: dict[str, Any]) -> list[str]:
    counts = facts["counts"]
    lines = []
    if facts["template"]:
        lines.append(f"{_rows(counts['rendered'])} rendered by {facts['template']['path']}, for which today is "
                     f"{facts['options']['date']}")
    if counts["too_long"]:
        lines.append(f"{_rows(counts['too_long'])} left out: prompts of more than "
                     f"{facts['options']['max_prompt_tokens']} tokens")
    if counts["duplicates"]:
        fate = "left out" if counts["dropped_duplicates"] else "kept; --drop-duplicates leaves them out"
        lines.append(f"{_rows(counts['duplicates'])} with the prompt and answer of an earlier one: {fate}")
    for name, count in facts["columns_not_kept"].items():
        lines.append(f"column {name} of {_rows(count)} is not kept: its name is taken")
    return lines


def summary(facts: dict[str, Any], histogram: list[str]) -> list[str]:
    """Returns the lines of the summary of a manifest; `histogram` are those of the prompts' lengths."""
    lengths = facts["lengths"]
    unit = lengths["unit"]
    prompt = lengths["prompt"]
    why = "" if unit == "tokens" else " (not in tokens: that needs --model DIR and the Python package tokenizers)"
    lines = [f"{_rows(facts['counts']['rows'])} read", *_sentences(facts)]
    lines.append(f"prompts have {prompt['least']} to {prompt['most']} {unit}, {prompt['mean']} on average{why}:")
    lines += histogram
    for entry in facts["outputs"]:
        lines.append(f"{entry['file']}: {_rows(entry['rows'])}, sha256:{entry['sha256']}")
    return lines
