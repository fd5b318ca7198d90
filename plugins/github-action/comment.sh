#!/usr/bin/env bash
# Writes the report as a comment on the pull request, if the job runs for one.
set -euo pipefail
number=$(sed -nE 's#^refs/pull/([0-9]+)/.*#\1#p' <<< "${GITHUB_REF:-}")
if [ -z "$number" ] || [ ! -s "$REPORTS/report.md" ]; then
  echo "no comment: the job runs for no pull request, or there is no report"
  exit 0
fi
gh pr comment "$number" --repo "$GITHUB_REPOSITORY" --body-file "$REPORTS/report.md"
