#!/usr/bin/env bash
# Regenerates into the tree and fails with a diff if that changed anything. It compares with the
# files as they were a moment ago and not with the last commit, so that it can be run at any time.
set -euo pipefail

before=$(mktemp -d)
generated=false

# A run that ends before everything is generated leaves the tree as it was.
finish() {
	if [ "$generated" = false ] && [ -d "$before/tree" ]; then
		cp -R "$before/tree/." .
	fi
	rm -rf "$before"
}
trap finish EXIT

# gqlgen also appends resolvers that are missing to graph/, so all of its Go files are compared.
list() {
	find . \( -name .git -o -name .holdfast -o -name node_modules -o -path ./bin \) -prune -o \
		-type f \( -path './graph/*.go' -o -path '*/internal/dbsqlc/*.go' \) -print | LC_ALL=C sort
}

list > "$before/list"
for folder in /graph/generated/ /internal/dbsqlc/; do
	if ! grep -q "$folder" "$before/list"; then
		echo "no generated code was found in $folder" >&2
		exit 1
	fi
done
mkdir "$before/tree"
while IFS= read -r file; do
	mkdir -p "$before/tree/$(dirname "$file")"
	cp -p "$file" "$before/tree/$file"
done < "$before/list"

# sqlc leaves the Go file of a query file that was removed: start from nothing.
grep /internal/dbsqlc/ "$before/list" | tr '\n' '\0' | xargs -0 rm -f
"${MAKE:-make}" --no-print-directory generate
generated=true
list > "$before/now"

status=0
while IFS= read -r file; do
	old=$before/tree/$file
	new=$file
	[ -f "$old" ] || old=/dev/null
	[ -f "$new" ] || new=/dev/null
	diff -u -L "$file (before)" -L "$file (regenerated)" "$old" "$new" || status=1
done < <(LC_ALL=C sort -u "$before/list" "$before/now")

if [ "$status" -ne 0 ]; then
	echo 'Generated code was out of date. It has been regenerated: review and commit it.' >&2
fi
exit "$status"
