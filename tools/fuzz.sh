#!/usr/bin/env bash
# Fuzzes each Fuzz function of the module for a while: fuzz.sh 10s. An input that fails is kept by
# `go test` in testdata/fuzz of the package, to be committed with the fix.
set -euo pipefail

fuzztime=${1:?how long to spend on each function, such as 10s}
go=${GO:-go}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

fuzz() {
	"$go" test -run '^$' -fuzz "^$1\$" -fuzztime "$fuzztime" "$2" 2>&1 | tee "$log"
}

# Up to Go 1.26 the end of -fuzztime may be reported as a failure without a failing input
# (https://go.dev/issue/75804). Only that is worth a second try.
spurious() {
	grep -q '^ *context deadline exceeded$' "$log" && ! grep -q -e 'Failing input written' -e '^panic:' "$log"
}

# Listing builds a package's test binary: ask only the packages that have fuzz functions.
folders=$(git grep -l --untracked '^func Fuzz' -- '*_test.go' | xargs -n 1 dirname | sort -u) || {
	echo 'no fuzz function was found' >&2
	exit 1
}
for folder in $folders; do
	# Listed into a variable first, so that a package that does not compile ends the run.
	listed=$("$go" test -list '^Fuzz' "./$folder")
	for name in $(grep '^Fuzz' <<< "$listed"); do
		echo "== $name in $folder for $fuzztime"
		fuzz "$name" "./$folder" || { spurious && fuzz "$name" "./$folder"; }
	done
done
