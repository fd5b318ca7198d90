#!/usr/bin/env bash
# Runs a verb by the step of all pipelines, and says on GitHub what has become of it: a job summary,
# outputs, and an annotation for a failure.
set -euo pipefail
step=$(cd "$(dirname "$0")/../pipeline" && pwd)/step.sh
export REPORTS=${REPORTS:-tidb-reports}
# The arguments are one line with quotes as in a shell. Nothing in it is expanded or run: it may have a text of a pull
# request. Where a quote has no end, xargs fails.
words=$(printf '%s\n' "${ARGUMENTS:?}" | xargs -n 1 printf '%s\n') || { echo "::error title=kubectl tidb::the arguments cannot be read: $ARGUMENTS"; exit 2; }
set --
while IFS= read -r word; do set -- "$@" "$word"; done <<< "$words"
code=0
sh "$step" "$@" || code=$?
[ ! -s "$REPORTS/report.md" ] || cat "$REPORTS/report.md" >> "$GITHUB_STEP_SUMMARY"
if [ -f "$REPORTS/result" ]; then
  cat "$REPORTS/result" >> "$GITHUB_OUTPUT"
fi
echo "reports=$REPORTS" >> "$GITHUB_OUTPUT"
if [ "$code" -ne 0 ]; then
  # What a person has to do, or, where there is no report, why there is none.
  text=
  [ ! -f "$REPORTS/report.md" ] || text=$(sed -n 's/^- \(\*\*[a-z]*\*\* .*\)/\1/p' "$REPORTS/report.md" | sed 5q) || true
  [ -n "$text" ] || [ ! -f "$REPORTS/log.txt" ] || text=$(sed -n '/^error: /,$p' "$REPORTS/log.txt" | sed 6q) || true
  [ -n "$text" ] || text="exit code $code"
  text=${text//%/%25}
  text=${text//$'\r'/%0D}
  text=${text//$'\n'/%0A}
  echo "::error title=kubectl tidb $1 (exit code $code)::${text//[\\*]/}"
fi
exit "$code"
