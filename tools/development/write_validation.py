#!/usr/bin/env python3
"""write_validation.py RESULTS DOCUMENT: writes the marked tables of DOCUMENT from the answers kept in RESULTS.

A table stands between `<!-- begin measured: NAME -->` and its end; a result that is not there leaves its table as it is.
Misses stay in: nothing is left out of what a command answered.
"""
import json
import os
import re
import sys


def percent(share):
    return f"{100 * share:+.1f} %"


def mib(count):
    return f"{count / 2**20:,.0f} MiB"


def rows(header, body):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in body])


def validate(answer):
    runs = answer["runs"]
    table = rows(
        ["run", "predicted", "measured", "error", "machine's speed before, after", "host memory over its peak"],
        [[run["name"], f"{run['predicted_step_seconds']:.3f} s", f"{run['step_seconds']:.3f} s", percent(run["error"]),
          f"{run['speed_before']:.2f}, {run['speed_after']:.2f}",
          mib(run["predicted_host_bytes"] - run["host_peak_bytes"])] for run in runs])
    exact = sum(run["arena_bytes"] == run["device_peak_bytes"] for run in runs)
    misses = answer["memory_misses"]
    return (f"Wanted: step time within 5 % (median) and 12 % (worst). Measured: **{100 * answer['median_error']:.1f} % and "
            f"{100 * answer['worst_error']:.1f} %** over {len(runs)} runs. Of {answer['pairs']} pairs predicted more than 15 % "
            f"apart {answer['pairs_in_the_wrong_order']} were measured the other way round. Arenas exact: {exact} of "
            f"{len(runs)}; memory outside its bounds: {'; '.join(misses) if misses else 'none'}.\n\n{table}")


def ranks(answer):
    table = rows(["case", "plans", "Kendall tau-b", "best predicted, over the best measured"],
                 [[case["name"], len(case["runs"]), f"{case['tau_b']:.2f}", percent(case["regret"])]
                  for case in answer["cases"]])
    return f"Kendall's tau-b over all: **{answer['tau_b']:.2f}**.\n\n{table}"


def experiments(answer):
    parts = []
    for one in answer["measured"]:
        body = []
        for run in one["rows"]:
            simulated, measured = run["simulated"]["step_seconds"], run["measured"]["step_seconds"]
            change = run.get("change_percent", {})
            changes = [f"{change[kind]:+.1f} %" if kind in change else "" for kind in ("simulated", "measured", "published")]
            body.append([run["run"], f"{simulated:.3f} s", f"{measured:.3f} s", percent(measured / simulated - 1), *changes])
        header = ["run", "simulated", "measured", "error", "change simulated", "measured", "published"]
        parts.append(f"**{one['title']}**\n\n" + rows(header, body))
    return "\n\n".join(parts)


def main():
    results, document = sys.argv[1:]
    with open(document, encoding="utf-8") as file:
        text = file.read()
    for name, write in (("validate", validate), ("ranks", ranks), ("experiments", experiments)):
        path = os.path.join(results, name + ".json")
        if not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as file:
            table = write(json.load(file))
        with open(os.path.join(results, name + ".date"), encoding="utf-8") as file:
            day = file.read().strip()
        begin, end = f"<!-- begin measured: {name} -->", f"<!-- end measured: {name} -->"
        text, count = re.subn(f"{begin}.*?{end}", lambda _: f"{begin}\nOn {day}. {table}\n{end}", text, flags=re.S)
        if count != 1:
            sys.exit(f"{document}: needs the marks of {name} once, found {count}")
    with open(document, "w", encoding="utf-8") as file:
        file.write(text)


main()
