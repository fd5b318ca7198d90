#!/bin/sh
# A step of a pipeline: runs a verb of kubectl tidb, writes its reports and log into a folder, and
# ends with its exit code.
#
#   step.sh VERB [ARGUMENT...]      e.g. step.sh apply -f clusters/basic.yaml --timeout 50m
#
#   TIDB      the program, kubectl-tidb without it
#   REPORTS   the folder, tidb-reports without it: junit.xml, report.md, report.html, log.txt and
#             result, which has lines NAME=VALUE: exit-code, changes, resume
#   ATTEMPTS  how often to run it while the exit code says that the same command goes on (4: timed
#             out, 8: another driver has the cluster); 1 without it
#   PAUSE     seconds between attempts, 60 without it
#
# With --dry-run --exit-code, changes is true if there is something to do, and the step ends with 0.
set -u
program=${TIDB:-kubectl-tidb}
reports=${REPORTS:-tidb-reports}
attempts=${ATTEMPTS:-1}
pause=${PAUSE:-60}

if [ $# -eq 0 ]; then
  echo "step.sh: a verb is missing, such as apply" >&2
  exit 2
fi
mkdir -p "$reports" || exit 2
rm -f "$reports/result" "$reports/log.txt" "$reports/junit.xml" "$reports/report.md" "$reports/report.html"

child=
stopped=
# The verb stops at a safe point when it gets the signal; the shell itself would end at once.
trap 'stopped=1; [ -z "$child" ] || kill -TERM "$child"' TERM INT

# run runs the verb, with its output in the log of the job and in the folder.
run() {
  pipe=$reports/pipe.$$
  mkfifo "$pipe" || exit 2
  tee -a "$reports/log.txt" <"$pipe" &
  tee=$!
  "$program" "$@" --report "junit=$reports/junit.xml,markdown=$reports/report.md,html=$reports/report.html" >"$pipe" 2>&1 &
  child=$!
  code=0
  wait "$child" || code=$?
  # A signal ends wait before the verb has ended.
  while kill -0 "$child" 2>/dev/null; do
    code=0
    wait "$child" || code=$?
  done
  child=
  wait "$tee"
  rm -f "$pipe"
}

attempt=1
while :; do
  run "$@"
  case $code in
    4 | 8) ;;
    *) break ;;
  esac
  if [ "$attempt" -ge "$attempts" ] || [ -n "$stopped" ]; then
    break
  fi
  attempt=$((attempt + 1))
  echo "step.sh: the exit code is $code: attempt $attempt of $attempts in $pause seconds"
  sleep "$pause" &
  child=$!
  wait "$child" || true
  child=
  [ -z "$stopped" ] || break
done

changes=false
resume=false
case $code in
  10) changes=true ;;
  4 | 8 | 130) resume=true ;;
esac
{
  echo "exit-code=$code"
  echo "changes=$changes"
  echo "resume=$resume"
} >"$reports/result"
[ "$code" -ne 10 ] || exit 0
exit "$code"
