"""``arm_control completion``: names and options that the Tab key completes."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from arm_control.core import robot_names

EXAMPLES = ("completion bash",)
NAMES = {
    "run": "scenarios",
    "simulate": "scenarios",
    **dict.fromkeys(("view", "check", "compare", "excite", "ik", "distance", "export", "formula"), "robots"),
}
"""What the first word after a command may be, beside a file."""
SCRIPT = """\
# Completion of arm_control: source <(arm_control completion bash)
_arm_control() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=""
    case "$COMP_CWORD ${COMP_WORDS[1]} $before" in
        1\\ *) words="@COMMANDS@" ;;
@CASES@
    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _arm_control arm_control
"""
ZSH = "autoload -U +X bashcompinit && bashcompinit\n"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh"))


def run(options: argparse.Namespace) -> int:
    """Print a script for the shell; add `source <(arm_control completion bash)` to your ~/.bashrc."""
    from arm_control.app.cli import all_parsers

    print((ZSH if options.shell == "zsh" else "") + script(all_parsers()), end="")
    return 0


def script(parsers: dict[str, argparse.ArgumentParser]) -> str:
    """Return the script for some commands, by their names."""
    cases = "\n".join(f'        {case}) words="{" ".join(words)}" ;;' for case, words in _cases(parsers))
    return SCRIPT.replace("@COMMANDS@", " ".join(parsers)).replace("@CASES@", cases)


def _cases(parsers: dict[str, argparse.ArgumentParser]) -> Iterator[tuple[str, list[str]]]:
    """Patterns of command and word before, and the words that may follow."""
    from arm_control.simulation import scenario_names

    robots = list(robot_names())
    names = {"scenarios": list(scenario_names()), "robots": robots}
    for command, parser in parsers.items():
        actions = list(parser._actions)
        for action in actions:
            choices = robots if "--robot" in action.option_strings else list(map(str, action.choices or ()))
            if action.option_strings and (choices or action.nargs != 0):
                for option in action.option_strings:
                    yield f"*\\ {command}\\ {option}", choices
        options = [option for action in actions for option in action.option_strings if option.startswith("--")]
        positional = [str(x) for action in actions if not action.option_strings for x in action.choices or ()]
        yield f"*\\ {command}\\ *", [*options, *positional, *names.get(NAMES.get(command, ""), [])]
