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


def errors(answer, kind=""):
    return f"{100 * answer[kind + 'median_error']:.1f} % (median) and {100 * answer[kind + 'worst_error']:.1f} % (worst)"


def speeds(run):
    looks = [burst["speed_before"] for burst in run["bursts"]] + [run["bursts"][-1]["speed_after"]]
    return f"{min(looks):.2f} to {max(looks):.2f}"


def validate(answer):
    runs = answer["runs"]
    table = rows(
        ["run", "predicted", "measured", "error", "error, speed known", "machine's speed, least to most",
         "host memory predicted above the peak"],
        [[run["name"], f"{run['predicted_step_seconds']:.3f} s", f"{run['step_seconds']:.3f} s", percent(run["error"]),
          percent(run["error_during"]), speeds(run), mib(run["predicted_host_bytes"] - run["host_peak_bytes"])]
         for run in runs])
    exact = sum(run["arena_bytes"] == run["device_peak_bytes"] for run in runs)
    misses = answer["memory_misses"]
    return (f"Over {len(runs)} runs the step time was off by **{errors(answer)}**; the target is 3 % (median) and 8 % (worst). "
            f"Had the speed of the machine during the steps been known, it would have been off by {errors(answer, 'during_')}. "
            f"Of {answer['pairs']} pairs of runs that were predicted more than 15 % apart, {answer['pairs_in_the_wrong_order']} "
            f"were measured in the other order. The device arena had exactly the predicted size in {exact} of {len(runs)} runs; "
            f"host memory outside its bounds: {'; '.join(misses) if misses else 'none'}.\n\n{table}")


def calibrate(answer):
    groups = rows(["rates", "operations", "measured / predicted", "quartiles over the runs", "corrected"],
                  [[group["group"], group["operations"], f"{group['ratio']:.3f}",
                    f"{group['first_quartile']:.3f} to {group['third_quartile']:.3f}", "yes" if group["corrected"] else "no"]
                   for group in answer["groups"]])
    runs = rows(["run", "measured", "before", "after"],
                [[run["run"], f"{run['step_seconds']:.3f} s", percent(run["step_seconds"] / run["predicted_before"] - 1),
                  percent(run["step_seconds"] / run["predicted_after"] - 1)] for run in answer["runs"]])
    return (f"Six runs of `train`, none of them among the runs of `validate`. Steps that compute limits took "
            f"{answer['beyond_operations']:.3f} times as long as the medians of their operations add up to.\n\n{groups}\n\n{runs}")


def calibrated(answer):
    table = rows(["run", "error before", "error after"],
                 [[run["name"], percent(run["error"]), percent(run["other_error"])] for run in answer["runs"]])
    return (f"The same steps were predicted from both profiles. The profile as measured was off by {errors(answer)}, the "
            f"corrected one by **{errors(answer, 'other_')}**.\n\n{table}")


def ranks(answer):
    header = ["case", "plans", "Kendall tau-b", "plan predicted best, slower than the one measured best by"]
    beside = any("other_change" in case for case in answer["cases"])
    if beside:
        header.append("step of the plan chosen after calibration, against before")

    def change(case):
        if "other_change" not in case:
            return "none fits"
        return "the same plan" if case["other_is_same"] else percent(case["other_change"])

    table = rows(header, [[case["name"], len(case["runs"]), f"{case['tau_b']:.2f}", percent(case["regret"])] +
                          ([change(case)] if beside else []) for case in answer["cases"]])
    best = sum(case["best_was_best"] for case in answer["cases"])
    text = (f"Kendall's tau-b over all pairs of plans of a case is **{answer['tau_b']:.2f}**. The plan predicted best was measured best "
            f"in {best} of {len(answer['cases'])} cases.")
    apart = answer["apart"]
    text += (f" Of {apart['concordant'] + apart['discordant']} pairs predicted more than {100 * apart['least_apart']:.0f} % apart, "
             f"{apart['discordant']} were measured in the other order (tau-b {apart['tau_b']:.2f}).")
    if beside:
        changes = sorted(case.get("other_change", 0) for case in answer["cases"])
        middle = len(changes) // 2
        median = changes[middle] if len(changes) % 2 else (changes[middle - 1] + changes[middle]) / 2
        same = sum(case.get("other_is_same", False) for case in answer["cases"])
        text += (f" A search with the calibrated profile picks the same plan in {same} cases; against the plan picked before, the step "
                 f"changes by {percent(median)} (median), {percent(changes[0])} to {percent(changes[-1])}.")
    return f"{text}\n\n{table}"


def experiments(answer):
    parts = []
    for one in answer["measured"]:
        body = []
        for run in one["rows"]:
            simulated, measured = run["simulated"]["step_seconds"], run["measured"]["step_seconds"]
            change = run.get("change_percent", {})
            changes = [f"{change[kind]:+.1f} %" if change.get(kind) is not None else ""
                       for kind in ("simulated", "measured", "published")]
            body.append([run["run"], f"{simulated:.3f} s", f"{measured:.3f} s", percent(measured / simulated - 1), *changes,
                         mib(run["measured"]["device_bytes"]), mib(run["measured"]["host_bytes"])])
        header = ["run", "simulated", "measured", "error", "change simulated", "change measured", "change published", "arena",
                  "host peak"]
        lines = [f"host memory{', ' + line['line'] if line['line'] else ''}: {line['measured']['bytes_per_parameter']:.2f} bytes "
                 f"a parameter measured, {line['simulated']['bytes_per_parameter']:.2f} simulated "
                 f"(R^2 {line['measured']['r_squared']:.5f})" for line in one["host_lines"]]
        violated = one["violations"]
        lines.append("violated: " + "; ".join(violated) if violated else "nothing that must hold was violated (losses, arenas, "
                     "memory)")
        parts.append(f"**{one['title']}.** The step time was off by {one['median_error_percent']:.1f} % (median) and "
                     f"{one['worst_error_percent']:.1f} % (worst); {'; '.join(lines)}.\n\n" + rows(header, body))
    return "\n\n".join(parts)


def contention(profile):
    lanes = []
    for pair in profile["contention"]:
        if pair["work"] not in lanes:
            lanes.append(pair["work"])
    share = {(pair["work"], pair["beside"]): pair["speed"]["value"] for pair in profile["contention"]}
    matrix = rows(["speed that a lane keeps"] + [f"beside {lane}" for lane in lanes],
                  [[work] + [f"{100 * share[work, beside]:.0f} %" if (work, beside) in share else "" for beside in lanes]
                   for work in lanes])
    runs = ", ".join(f"{name} {figure['value']:.2f}" for name, figure in profile["in_runs"].items())
    weight = profile["host"].get("compute_weight", {}).get("value", 1)
    return (f"Within a run, operations reach these multiples of the rates that were measured for them alone: {runs}; all others "
            f"reach 1. When compute on all cores competes with one more thread for a core, it keeps a share of its speed that is "
            f"{weight:.2f} of the share that the thread keeps.\n\n{matrix}")


# Table, the answer it is made from, what makes it. `validate` of the script gives two answers.
TABLES = (("profile", "profile", contention), ("validate", "validate", validate), ("calibrate", "calibrate", calibrate),
          ("calibrated", "validate", calibrated), ("ranks", "ranks", ranks), ("experiments", "experiments", experiments))


def main():
    results, document = sys.argv[1:]
    with open(document, encoding="utf-8") as file:
        text = file.read()
    for name, answer, write in TABLES:
        path = os.path.join(results, answer + ".json")
        if not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as file:
            table = write(json.load(file))
        with open(os.path.join(results, ("validate" if answer == "calibrate" else answer) + ".date"), encoding="utf-8") as file:
            day = file.read().strip()
        begin, end = f"<!-- begin measured: {name} -->", f"<!-- end measured: {name} -->"
        text, count = re.subn(f"{begin}.*?{end}", lambda _: f"{begin}\nOn {day}. {table}\n{end}", text, flags=re.S)
        if count != 1:
            sys.exit(f"{document}: needs the marks of {name} once, found {count}")
    with open(document, "w", encoding="utf-8") as file:
        file.write(text)


main()
